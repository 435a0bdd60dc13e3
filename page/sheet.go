package page

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/ktrdr/ktrdr"
)

// sheet is the HTML of a view on its way into a file. What needs a server is left
// out, and the parts that a browser would load later are put in their places.
type sheet struct {
	load  func(path string) ([]byte, error) // a part
	small bool                              // without what is long

	out    bytes.Buffer
	ids    map[string]bool // that links inside the file can lead to
	skip   atom.Atom       // of the element that is left out; 0: none
	depth  int             // of elements of its name inside of it
	ends   []string        // end tags of links and forms that are open and changed
	figure int             // depth of figures: svg in svg
	head   bool            // inside of the first h1
	h1     []string        // its texts
}

// controls are elements that do nothing in a file. Their content goes with them.
var controls = []atom.Atom{
	atom.Button, atom.Select, atom.Textarea, atom.Label, atom.Dialog, atom.Script, atom.Style, atom.Iframe, atom.Object,
}

// single are elements without an end that do nothing in a file.
var single = []atom.Atom{atom.Input, atom.Link, atom.Meta, atom.Img, atom.Embed, atom.Base}

// onPages are the classes of elements that are of use only on a page.
var onPages = []string{"btn", "seg", "back", "pick", "acts"}

// long are the ids of parts that a small file does not have, nor the links to them.
var long = []string{"talk"}

// title is the headline in one line.
func (s *sheet) title() string { return strings.Join(strings.Fields(strings.Join(s.h1, " ")), " ") }

// take takes the HTML of a view or a part over.
func (s *sheet) take(body []byte) error {
	if s.ids == nil {
		s.ids = map[string]bool{}
	}
	for z := html.NewTokenizer(bytes.NewReader(body)); ; {
		if z.Next() == html.ErrorToken {
			if err := z.Err(); !errors.Is(err, io.EOF) {
				return err
			}
			return nil
		}
		if err := s.token(z.Token()); err != nil {
			return err
		}
	}
}

func (s *sheet) token(t html.Token) error {
	if s.skip != 0 {
		s.inside(t)
		return nil
	}
	switch t.Type {
	case html.TextToken:
		if s.head {
			s.h1 = append(s.h1, t.Data)
		}
		s.out.WriteString(t.String())
	case html.StartTagToken, html.SelfClosingTagToken:
		return s.start(t)
	case html.EndTagToken:
		s.end(t)
	}
	return nil // comments are left out
}

// inside passes over the content of an element that is left out.
func (s *sheet) inside(t html.Token) {
	switch {
	case t.DataAtom != s.skip:
	case t.Type == html.StartTagToken:
		s.depth++
	case t.Type == html.EndTagToken && s.depth > 0:
		s.depth--
	case t.Type == html.EndTagToken:
		s.skip = 0
	}
}

func (s *sheet) start(t html.Token) error {
	if slices.Contains(single, t.DataAtom) {
		return nil
	}
	if leftOut(t) || s.small && isLong(t) {
		if t.Type == html.StartTagToken {
			s.skip = t.DataAtom
		}
		return nil
	}
	if path := attribute(t, "data-load"); path != "" {
		return s.part(t, path)
	}
	switch t.DataAtom {
	case atom.A:
		t.Data = s.link(t)
		s.ends = append(s.ends, t.Data)
	case atom.Form:
		t.Data = "div"
	case atom.Svg:
		s.figure++ // none closes itself
	case atom.H1:
		s.head = len(s.h1) == 0
	}
	t.Attr = slices.DeleteFunc(t.Attr, func(a html.Attribute) bool { return needsServer(a, t.Data) })
	if id := attribute(t, "id"); id != "" {
		s.ids[id] = true
	}
	s.out.WriteString(t.String())
	return nil
}

func (s *sheet) end(t html.Token) {
	switch t.DataAtom {
	case atom.A:
		if n := len(s.ends); n > 0 {
			t.Data, s.ends = s.ends[n-1], s.ends[:n-1]
		}
	case atom.Form:
		t.Data = "div"
	case atom.Svg:
		s.figure--
	case atom.H1:
		s.head = false
	}
	s.out.WriteString(t.String())
}

// leftOut reports whether an element does nothing in a file: a control, a form
// that changes something, or one that says so by its class or by data-page.
func leftOut(t html.Token) bool {
	if slices.Contains(controls, t.DataAtom) || t.DataAtom == atom.Form && strings.EqualFold(attribute(t, "method"), "post") {
		return true
	}
	for class := range strings.FieldsSeq(attribute(t, "class")) {
		if slices.Contains(onPages, class) {
			return true
		}
	}
	return slices.ContainsFunc(t.Attr, func(a html.Attribute) bool { return a.Key == "data-page" })
}

// isLong reports whether an element is a part that a small file does not have, or a
// link to it.
func isLong(t html.Token) bool {
	return slices.Contains(long, cmp.Or(attribute(t, "id"), strings.TrimPrefix(attribute(t, "href"), "#")))
}

// link is the element that stands for a link: itself if it leads to a place in
// this file, else one that only holds its text.
func (s *sheet) link(t html.Token) string {
	switch {
	case strings.HasPrefix(attribute(t, "href"), "#"):
		return "a"
	case s.figure > 0:
		return "g"
	}
	return "span"
}

// needsServer reports whether an attribute is of no use in a file.
func needsServer(a html.Attribute, element string) bool {
	switch a.Key {
	case "href":
		return element != "a"
	case "action", "method", "src", "srcset", "style", "xlink:href", "target", "download", "aria-busy":
		return true
	}
	return strings.HasPrefix(a.Key, "data-") || strings.HasPrefix(a.Key, "on")
}

// part puts a part in its place. One that the lab cannot give now says why.
func (s *sheet) part(t html.Token, path string) error {
	body, err := s.load(path)
	id := attribute(t, "id")
	if err != nil {
		if code := ktrdr.CodeOf(err); code == ktrdr.CodeInternal || code == ktrdr.CodeUnavailable || code == ktrdr.CodeUnauthorized {
			return err
		}
		body = fmt.Appendf(nil, `<div class="hd"><h2>%s</h2></div><p>This part is missing: %s.</p>`,
			html.EscapeString(cmp.Or(attribute(t, "aria-label"), capital(id))), html.EscapeString(ktrdr.ToPrintable(err.Error())))
	}
	s.skip = t.DataAtom // its content says that it is being loaded
	within := &sheet{load: s.load, small: s.small, ids: s.ids, h1: []string{""}}
	if err := within.take(body); err != nil {
		return err
	}
	if s.ids[id] { // the part is the element itself
		s.out.Write(within.out.Bytes())
		return nil
	}
	s.ids[id] = true
	t.Attr = slices.DeleteFunc(t.Attr, func(a html.Attribute) bool { return needsServer(a, t.Data) || a.Key == "aria-labelledby" })
	s.out.WriteString(t.String())
	s.out.Write(within.out.Bytes())
	s.out.WriteString("</" + t.Data + ">")
	return nil
}

func attribute(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
