#!/bin/sh
# digits.csv.gz (64 pixels and the label a line) to digits.txt (one character a
# pixel, 0 to 9 and a to g for 0 to 16, then the label).
# usage: sh from_csv.sh digits.csv.gz > digits.txt
set -eu
gzip -dc "$1" | awk -F, '
    NF != 65 { print "line " NR ": " NF " fields" > "/dev/stderr"; exit 1 }
    {
        line = ""
        for (i = 1; i <= 64; ++i) {
            if ($i !~ /^[0-9]+$/ || $i > 16) {
                print "line " NR ": pixel " i > "/dev/stderr"; exit 1
            }
            line = line substr("0123456789abcdefg", $i + 1, 1)
        }
        print line $65
    }'
