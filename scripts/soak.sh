#!/bin/sh
# Runs of many kinds at once under limits on threads and descriptors, for hours: each round has a seed of its own, which is printed.
#   scripts/soak.sh BUILD_FOLDER [MINUTES]
set -eu
program="$1/process/process_soak"
end=$(($(date +%s) + ${2:-60} * 60))
while [ "$(date +%s)" -lt "$end" ]; do
    seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
    timeout 600 "$program" 120 "$seed" || { echo "seed $seed: ended with $?"; exit 1; }
done
