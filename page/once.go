package page

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/ktrdr/ktrdr"
)

// sentOnce is the idempotency key of a form that is sent twice: the key with which
// the form was rendered, and the request. A form that was changed in between asks
// for something else. A form without a key has none.
func sentOnce(key string, request any) string {
	if key == "" {
		return ""
	}
	text, _ := json.Marshal(request) // of plain fields
	return fmt.Sprintf("page-%x", sha256.Sum256(append([]byte(key+"\n"), text...)))
}

// retryKey is the key of a form that retries an operation, when it is rendered. It
// is the same for ten seconds, so that a live section that is rendered again and has
// not changed is the same text.
func retryKey(id ktrdr.OperationID, now time.Time) field {
	return field{"key", fmt.Sprintf("%s-%d", id, now.Unix()/10)}
}

// retryOnce retries an operation, once for each form.
func (p *Pages) retryOnce(r *http.Request, id ktrdr.OperationID) (ktrdr.OperationID, error) {
	made, err := p.lab.Retry(r.Context(), id, sentOnce(r.PostFormValue("key"), id))
	return made.Operation, err
}
