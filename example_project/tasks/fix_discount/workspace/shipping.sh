#!/bin/sh
# What shipping costs, in cents, for an order of so many cents.
if [ "$1" -gt 4000 ]; then
    echo 0
else
    echo 490
fi
