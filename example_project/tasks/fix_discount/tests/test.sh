#!/bin/sh
# Nothing of what is expected here is in the agent's reach: /tests is closed to it, and empty while it works.
for order in "3999 490" "4000 0" "4001 0" "0 490"; do
    set -- $order
    costs=$(sh shipping.sh "$1")
    [ "$costs" = "$2" ] || { echo "an order of $1 cents: $costs cents, not $2"; exit 1; }
done
