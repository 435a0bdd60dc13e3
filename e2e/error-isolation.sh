#!/usr/bin/env bash
# One research fails, the others continue.
. "$(dirname "$0")/lab.sh"

echo "=== Error isolation ==="
"$KTRDR" data synth --symbol EURUSD --timeframe 1h --bars 2000 --seed 2 --edge 0.3
serve KTRDR_INJECT=fail:training:INJECT_FAILURE
worker

echo "Step 1 to 3: trigger A, B, which will fail, and C"
trigger() { "$KTRDR" research "$1" --ignore-unknown --bypass-gates --force --json | jq -r .operation_id; }
A=$(trigger "A")
B=$(trigger "B INJECT_FAILURE")
C=$(trigger "C")

echo "Step 4 and 5: wait for their ends"
eventually "B is FAILED" is "$B" FAILED
eventually "A is COMPLETED" is "$A" COMPLETED
eventually "C is COMPLETED" is "$C" COMPLETED
"$KTRDR" ops list --type agent_research

field "$B" error_message
[ "$(curl -s "$BASE/api/v1/checkpoints/$B" | jq -r '.data.checkpoint_type')" = failure ] || fail "B has no checkpoint"
echo "=== PASSED ==="
