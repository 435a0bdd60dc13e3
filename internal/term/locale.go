package term

import (
	"cmp"
	"os"
	"runtime"
	"strings"
)

// UTF8 says whether the locale of the environment is UTF-8. Figures are drawn in
// plain ASCII where it is not.
func UTF8() bool {
	name := cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"))
	if name == "" {
		return runtime.GOOS == "windows" // it has no such variables
	}
	name = strings.ToLower(name)
	return strings.Contains(name, "utf-8") || strings.Contains(name, "utf8")
}
