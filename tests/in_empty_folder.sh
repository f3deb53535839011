#!/bin/sh
# in_empty_folder.sh FOLDER COMMAND...: empties the folder and runs the command in it, so that tests that run at the same time share no
# file.
folder=$1
shift
rm -rf "$folder" && mkdir -p "$folder" && cd "$folder" && exec "$@"
