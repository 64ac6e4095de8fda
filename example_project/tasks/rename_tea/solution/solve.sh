#!/bin/sh
sed -i 's/Evening Blend/Good Night/' catalogue.txt newsletter.txt
