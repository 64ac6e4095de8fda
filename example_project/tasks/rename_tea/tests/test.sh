#!/bin/sh
grep -q 'Good Night: rooibos' catalogue.txt || { echo "the catalogue has the old name"; exit 1; }
grep -q 'Try our Good Night' newsletter.txt || { echo "the newsletter has the old name"; exit 1; }
grep -q 'Evening Blend' archive/2024.txt || { echo "the archive was rewritten"; exit 1; }
