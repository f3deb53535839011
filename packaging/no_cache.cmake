# What tests/consumer is configured with against packages: nothing that a user would not have.
