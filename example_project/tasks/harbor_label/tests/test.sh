#!/bin/sh
if [ "$(cat /app/label.txt)" = "EARL GREY" ]; then
    echo 1 > /logs/verifier/reward.txt
else
    echo 0 > /logs/verifier/reward.txt
fi
