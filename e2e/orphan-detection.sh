#!/usr/bin/env bash
# A training whose worker is killed is found out.
export ORPHAN_TIMEOUT_SECONDS=${ORPHAN_TIMEOUT_SECONDS:-2} ORPHAN_CHECK_INTERVAL_SECONDS=${ORPHAN_CHECK_INTERVAL_SECONDS:-0.5} HEARTBEAT_INTERVAL_SECONDS=${HEARTBEAT_INTERVAL_SECONDS:-0.25}
. "$(dirname "$0")/lab.sh"

echo "=== Orphan detection ==="
"$KTRDR" data synth --symbol EURUSD --timeframe 1h --bars 2000 --seed 2
mkdir -p "$KTRDR_DATA/strategies"
"$KTRDR" strategies example rsi_mean_reversion >"$KTRDR_DATA/strategies/test.yaml"
serve KTRDR_INJECT=hang:training:
worker

echo "Step 1: Start training operation..."
RESPONSE=$(curl -s -X POST $BASE/api/v1/training/start \
	-H "Content-Type: application/json" \
	-d '{"strategy_path": "strategies/test.yaml", "symbol": "EURUSD", "timeframe": "1h"}')
OP_ID=$(echo $RESPONSE | jq -r '.data.operation_id')
echo "Started operation: $OP_ID"

echo "Step 2: Verify it's running..."
eventually "it is RUNNING" is "$OP_ID" RUNNING

echo "Step 3: Killing worker..."
end $WORKER

echo "Step 4: Waiting for orphan detection..."
eventually "it is FAILED" is "$OP_ID" FAILED

echo "Step 5: Final verification..."
FINAL=$(curl -s $BASE/api/v1/operations/$OP_ID | jq '.data')
ERROR=$(echo $FINAL | jq -r '.error_message')
echo "Error message: $ERROR"
[ "$ERROR" = "Operation was RUNNING but no worker claimed it" ] || fail "that is not the sentence"
counted() { [ "$(curl -s $BASE/api/v1/health | jq '.orphan_detector.orphaned_total')" = 1 ]; }
eventually "the detector has counted it" counted
curl -s $BASE/api/v1/health | jq '.orphan_detector'
eventually "the log names the detector" grep -q "Orphan detector started" "$LAB/backend.log"
eventually "the log names the orphan" grep -q "Orphan operation detected" "$LAB/backend.log"
echo "=== PASSED ==="
