package sqlstore

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// query is one SQL text for both databases. Arguments are $1, $2, …. Some
// words stand for longer text, most of which differs between the databases:
//
//	{now}    microseconds since 1970 on the database's clock, the same in all of
//	         one statement
//	{lock}   at the end of a SELECT: lock the rows until the transaction ends.
//	         Nothing on SQLite, where a write transaction has the whole file.
//	{skip}   as {lock}, passing over rows that another transaction has locked
//	{update} lock the rows as an UPDATE does that changes no key
//	{share}  keep {lock} away from the rows; {share}, {update} and an UPDATE that
//	         changes no key do not wait for it
//	{operation}, {brief} the columns of operations that scanOperation reads; the
//	         second without what lists do not show
//	{moved}  in the SET of an UPDATE of operations: the row moves to the end of
//	         the table. A row that shrinks in its place leaves its page half empty
//	         on SQLite. Nothing on PostgreSQL, where every UPDATE moves.
type query string

// dialect is how one database says the words of a query.
type dialect struct {
	now, lock, skip, update, share, moved string
	compared                              string // what an argument begins with when something is compared with it, or limited by it

	texts sync.Map // query to string: what is said often is put into words once
	kept  atomic.Int64
}

// maxTexts bounds what is kept. We have far fewer texts; those that are put
// together may vary without end.
const maxTexts = 1000

// text returns q in the database's own words.
func (d *dialect) text(q query) string {
	if text, ok := d.texts.Load(q); ok {
		return text.(string)
	}
	text := strings.ReplaceAll(string(q), "{operation}", operationColumns)
	text = strings.ReplaceAll(text, "{brief}", briefColumns)
	text = strings.ReplaceAll(text, "{now}", d.now)
	text = strings.ReplaceAll(text, "{lock}", d.lock)
	text = strings.ReplaceAll(text, "{skip}", d.skip)
	text = strings.ReplaceAll(text, "{update}", d.update)
	text = strings.ReplaceAll(text, "{share}", d.share)
	text = strings.ReplaceAll(text, "{moved}", d.moved)
	for _, sign := range []string{"= ", "> ", "< ", "LIMIT "} {
		text = strings.ReplaceAll(text, sign+"$", sign+d.compared)
	}
	if d.kept.Add(1) <= maxTexts {
		d.texts.Store(q, text)
	}
	return text
}

// micros is how instants are stored; the zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// instant is what micros stored, in UTC.
func instant(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
