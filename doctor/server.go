package doctor

import (
	"context"
	"fmt"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/sqlstore"
)

// ours says whether a server is one of the lab that is looked at. It is taken
// for one where either does not say which lab it is of: a server without its
// database, or a database that cannot be read, has findings of its own.
func (d *doctor) ours(ctx context.Context, h ktrdr.Health) bool {
	if h.Store.Lab == "" {
		return true
	}
	var here sqlstore.Status
	if file, ok := backend.SQLiteFile(d.cfg.Database()); !ok || !backend.NoFile(file) {
		var err error
		if here, err = sqlstore.Look(ctx, d.cfg.Database()); err != nil {
			return true
		}
	}
	if here.BlobRoot == h.Store.Lab {
		return true
	}
	lab := "lab " + here.BlobRoot
	if here.BlobRoot == "" {
		lab = "a lab that no backend has served yet"
	}
	d.bad("server",
		fmt.Sprintf("name the server of this lab with --url or KTRDR_URL (`ktrdr serve` starts one); or look at the server's lab: "+
			"name its folder with --data, its database with --db (the server's is %s)", h.Store.Location),
		"the server at %s serves another lab: it serves lab %s, and %s holds %s", d.Server, h.Store.Lab, backend.WithoutSecrets(d.cfg.Database()), lab)
	return false
}
