#!/bin/sh
sed -n 's/^7 //p' /app/tins.txt | tr a-z A-Z > /app/label.txt
