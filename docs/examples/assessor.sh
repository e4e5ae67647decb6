#!/bin/sh
# An assessor for hunkgate, as a shell script: it refuses commands that name a production host, and has no opinion on
# anything else.
#
#   [[assessor]]
#   id = "no-production"
#   command = ["/path/to/assessor.sh"]
#
# One line of JSON comes on stdin; what the agent wants stands in it as data. It is compared and never run: no eval, no
# unquoted expansion, and nothing that it says is taken for an instruction. One line of JSON goes to stdout.
set -eu

IFS= read -r line

# The id is ours (letters, digits and -): the first "id" of the line, before anything that the agent wrote.
id=$(printf '%s' "$line" | sed -n 's/^{"v":1,"id":"\([A-Za-z0-9-]*\)".*/\1/p')
[ -n "$id" ] || exit 1

# What is wanted, as it stands; a quote inside it is escaped, so it cannot end the field.
effects=$(printf '%s' "$line" | sed -n 's/.*"effects":\[\(.*\)\],"class":.*/\1/p')

case "$effects" in
  *prod-db* | *production.example.com*)
    printf '{"v":1,"id":"%s","outcome":"deny","reason":"it names a production host"}\n' "$id" ;;
  *)
    printf '{"v":1,"id":"%s","outcome":"abstain","reason":"nothing is known against it"}\n' "$id" ;;
esac
