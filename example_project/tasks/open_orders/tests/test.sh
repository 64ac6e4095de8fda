#!/bin/sh
# Of an agent that reads, what counts is what it answers at last.
grep -q '3 orders, 28.50 €' /logs/agent/answer.txt || { cat /logs/agent/answer.txt; exit 1; }
