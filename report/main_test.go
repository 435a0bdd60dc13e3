package report

import (
	"os"
	"testing"

	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
