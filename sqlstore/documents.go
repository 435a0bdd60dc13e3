package sqlstore

import (
	"context"
	"strings"

	"github.com/ktrdr/ktrdr"
)

const (
	documentColumns = `kind, name, content, origin, source, owner, saved_at`

	selectDocuments query = `SELECT ` + documentColumns + ` FROM documents WHERE kind = $1 ORDER BY name`
	selectDocument  query = `SELECT ` + documentColumns + ` FROM documents WHERE kind = $1 AND name = $2`
	insertDocument  query = `INSERT INTO documents (` + documentColumns + `) VALUES ($1, $2, $3, $4, $5, $6, {now})`
	deleteDocument  query = `DELETE FROM documents WHERE kind = $1 AND name = $2`
)

var scanDocument = fields(func(d *ktrdr.Document) []any {
	return []any{&d.Kind, &d.Name, &d.Content, &d.Origin, &d.Source, &d.Owner, (*moment)(&d.SavedAt)}
})

func noDocument(kind ktrdr.DocumentKind, name string) error {
	if kind == ktrdr.StrategyDocument {
		return ktrdr.Errorf(ktrdr.CodeNotFound, "the lab has no strategy %q; `ktrdr strategies` lists those there are", clip(name))
	}
	if kind == ktrdr.FollowDocument {
		return ktrdr.Errorf(ktrdr.CodeNotFound, "%s is not kept current: `ktrdr data follow` lists the series that are", clip(name))
	}
	return ktrdr.Errorf(ktrdr.CodeNotFound, "the lab has no file of instruments")
}

// Documents implements ktrdr.Library.
func (s *Store) Documents(ctx context.Context, kind ktrdr.DocumentKind) ([]ktrdr.Document, error) {
	return readAll(ctx, s, scanDocument, selectDocuments, string(kind))
}

// Document implements ktrdr.Library.
func (s *Store) Document(ctx context.Context, kind ktrdr.DocumentKind, name string) (ktrdr.Document, error) {
	d, err := readRow(ctx, s, scanDocument, selectDocument, string(kind), name)
	return d, ifNoRow(err, noDocument(kind, name))
}

// SaveDocument implements ktrdr.Library.
func (s *Store) SaveDocument(ctx context.Context, d ktrdr.Document, replace bool) error {
	switch {
	case d.Kind != ktrdr.StrategyDocument && d.Kind != ktrdr.InstrumentsDocument && d.Kind != ktrdr.FollowDocument:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%q is no kind of document", clip(string(d.Kind)))
	case d.Name == "" || !storable(d.Name, ktrdr.MaxDocumentName) || strings.ContainsAny(d.Name, `/\`):
		return ktrdr.Errorf(ktrdr.CodeInvalid, "the name %q of a document is not 1 to %d bytes of text without slashes", clip(d.Name),
			ktrdr.MaxDocumentName)
	case !storable(d.Content, ktrdr.MaxDocument):
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%s is not UTF-8 text of at most %d bytes", clip(d.Name), ktrdr.MaxDocument)
	}
	return s.write(ctx, normal, func(t *tx) error {
		s.lockMeta(ctx, t, metaLibrary)
		is, found, err := optionalRow(scanDocument(t.row(ctx, selectDocument, string(d.Kind), d.Name)))
		switch {
		case err != nil:
			return err
		case found && is.Content == d.Content && (!replace || is.Origin == d.Origin && is.Owner == d.Owner && is.Source == d.Source):
			return nil
		case found && !replace:
			return ktrdr.Errorf(ktrdr.CodeConflict, "the lab has another %s already", clip(d.Name))
		case found:
			t.later(ctx, deleteDocument, string(d.Kind), d.Name)
		}
		t.later(ctx, insertDocument, string(d.Kind), d.Name, d.Content, string(d.Origin), shortened(d.Source), shortened(d.Owner))
		t.wake()
		return nil
	})
}

// DeleteDocument implements ktrdr.Library.
func (s *Store) DeleteDocument(ctx context.Context, kind ktrdr.DocumentKind, name string) error {
	return s.write(ctx, normal, func(t *tx) error {
		n, err := t.exec(ctx, deleteDocument, string(kind), name)
		if err == nil && n == 0 {
			return noDocument(kind, name)
		}
		t.wake()
		return err
	})
}
