package llm_test

import (
	"testing"

	"github.com/ktrdr/ktrdr/llm"
)

func TestFormats_EachIsThatOfTheProviderOfItsName(t *testing.T) {
	for _, f := range llm.Formats {
		p, err := f.New(llm.ClientConfig{})
		if err != nil || p.Name() != f.Name {
			t.Errorf("the provider of %s is %v, %v, want one of the same name", f.Name, p, err)
		}
		if got, own := llm.FormatOf(f.Name); got.Name != f.Name || !own {
			t.Errorf("the format of %s is %s, its own: %v", f.Name, got.Name, own)
		}
	}
	if f, own := llm.FormatOf("local"); f.Name != "openai" || own {
		t.Errorf("the format of a server of one's own is %s, its own: %v, want openai", f.Name, own)
	}
}
