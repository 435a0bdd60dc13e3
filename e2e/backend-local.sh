#!/usr/bin/env bash
# A research whose backend is restarted fails with a checkpoint, and is resumed.
. "$(dirname "$0")/lab.sh"

echo "=== Backend-local operations ==="
"$KTRDR" data synth --symbol EURUSD --timeframe 1h --bars 2000 --seed 2 --edge 0.3
serve RESTART_POLICY=fail KTRDR_INJECT=delay=3s:training:
worker

echo "Step 1: Start agent session..."
RESPONSE=$(curl -s -X POST $BASE/api/v1/agent/trigger \
	-H "Content-Type: application/json" \
	-d '{"trigger_reason": "start_new_cycle"}')
OP_ID=$(echo $RESPONSE | jq -r '.data.operation_id')
SESSION_ID=$(echo $RESPONSE | jq -r '.data.session_id')
echo "Started operation: $OP_ID, session: $SESSION_ID"

echo "Step 2: Waiting for design progress..."
in_training() { [ "$(curl -s $BASE/api/v1/agent/status | jq -r '.data.phase')" = TRAINING ]; }
eventually "it is in TRAINING" in_training

echo "Step 3: Restarting backend..."
kill $BACKEND
wait $BACKEND || fail "the backend did not stop well"
serve RESTART_POLICY=fail

echo "Step 4: Check operation status..."
OP_STATUS=$(curl -s $BASE/api/v1/operations/$OP_ID | jq -r '.data.status')
ERROR_MSG=$(curl -s $BASE/api/v1/operations/$OP_ID | jq -r '.data.error_message')
echo "Status: $OP_STATUS"
echo "Error: $ERROR_MSG"

echo "Step 5: Check checkpoint exists..."
CHECKPOINT=$(curl -s $BASE/api/v1/checkpoints/$OP_ID)
CP_EXISTS=$(echo $CHECKPOINT | jq -r '.success')
echo "Checkpoint exists: $CP_EXISTS, in phase $(echo $CHECKPOINT | jq -r '.data.state.phase')"
[ "$OP_STATUS $CP_EXISTS" = "FAILED true" ] || fail "it is not FAILED with a checkpoint"
[ "$ERROR_MSG" = "Backend restarted - checkpoint available for resume" ] || fail "that is not the sentence"

echo "Step 6: Resume agent session..."
RESUME=$(curl -s -X POST $BASE/api/v1/operations/$OP_ID/resume)
RESUME_SUCCESS=$(echo $RESUME | jq -r '.success')
echo "Resume success: $RESUME_SUCCESS"
[ "$RESUME_SUCCESS" = true ] || fail "$RESUME"
eventually "it is COMPLETED" is "$OP_ID" COMPLETED
[ "$(field "$OP_ID" session_id)" = "$SESSION_ID" ] || fail "its session changed"
echo "=== PASSED ==="
