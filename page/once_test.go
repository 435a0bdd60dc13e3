package page_test

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
)

// fieldsAt are the hidden fields of the form that is sent to a path.
func fieldsAt(t *testing.T, body, path string) url.Values {
	t.Helper()
	_, form, ok := strings.Cut(body, `action="`+path+`"`)
	if !ok {
		t.Fatalf("the page has no form to %s", path)
	}
	form, _, _ = strings.Cut(form, "</form>")
	v := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(form, -1) {
		v.Set(m[1], html.UnescapeString(m[2]))
	}
	return v
}

func (l *lab) operations() int {
	l.Helper()
	page, err := l.client.List(l.Context(), ktrdr.OperationQuery{Limit: 100})
	if err != nil {
		l.Fatal(err)
	}
	return len(page.Operations)
}

func TestUpload_ThatIsSentTwiceIsDoneOnce(t *testing.T) {
	l := openLab(t)
	admin := l.browser(ktrdr.ScopeAdmin)
	key := fieldsAt(t, admin.get("/data/import"), "/data/upload").Get("key")
	if again := fieldsAt(t, admin.get("/data/import"), "/data/upload").Get("key"); key == "" || again == key {
		t.Fatalf("forms with the keys %q and %q, want two keys", key, again)
	}
	_, first := admin.upload("eurusd_1h.csv", prices(1000), "key", key)
	_, second := admin.upload("eurusd_1h.csv", prices(1000), "key", key)
	at := "/data/import?op=" + loadID.FindStringSubmatch(first)[1]
	if loadID.FindStringSubmatch(second)[1] != loadID.FindStringSubmatch(first)[1] || l.operations() != 1 {
		t.Errorf("%d operations after a form that was sent twice, want 1", l.operations())
	}
	admin.upload("eurusd_1h.csv", prices(1100), "key", key)
	if l.operations() != 2 {
		t.Errorf("%d operations after the form with another file, want 2", l.operations())
	}

	form := formOf(t, admin.eventually(at, "Nothing is stored yet"))
	status, _ := admin.post("/data/import", form)
	again, _ := admin.post("/data/import", form)
	if status != http.StatusOK || again != http.StatusOK || l.operations() != 3 {
		t.Errorf("%d and %d, %d operations after an import that was sent twice, want 3", status, again, l.operations())
	}
}

func TestRetry_ThatIsSentTwiceIsDoneOnce(t *testing.T) {
	l := openLab(t)
	admin := l.browser(ktrdr.ScopeAdmin)
	_, body := admin.upload("eurusd_1h.csv", "these are no prices\n")
	id := loadID.FindStringSubmatch(body)[1]
	body = admin.eventually("/operations/"+id, "/retry")
	form := fieldsAt(t, body, "/operations/"+id+"/retry")
	if form.Get("key") == "" {
		t.Fatalf("the form has the fields %v and no key", form)
	}
	for range 2 {
		if status, body := admin.post("/operations/"+id+"/retry", form); status != http.StatusOK {
			t.Fatalf("the retry answers %d: %s", status, body)
		}
	}
	if n := l.operations(); n != 2 {
		t.Errorf("%d operations after a retry that was sent twice, want 2", n)
	}
	form.Set("key", "of a form that was rendered later")
	admin.post("/operations/"+id+"/retry", form)
	if n := l.operations(); n != 3 {
		t.Errorf("%d operations after a second retry, want 3", n)
	}
}
