#!/bin/sh
sed -i 's/-gt 4000/-ge 4000/' shipping.sh
