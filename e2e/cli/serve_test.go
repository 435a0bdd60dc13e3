package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

func TestServe_StoppedGracefullyGivesItsOwnWorkBack(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p, _ := l.serve("--workers", "1")
	id := l.start("--steps", "60", "--step-ms", "30", "--checkpoint-every", "100")
	l.until(id, "running", func(op ktrdr.Operation) bool { return op.Status == ktrdr.Running && op.MaxStep > 2 })
	if code := p.End(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code = %d, want 0", code)
	}
	l.serve("--workers", "0")
	op := l.op(id)
	if op.Status != ktrdr.Pending || op.Checkpoint == nil || op.Checkpoint.Type != ktrdr.CheckpointShutdown {
		t.Fatalf("after a graceful stop it is %s with checkpoint %+v", op.Status, op.Checkpoint)
	}
	l.worker()
	if out := l.must("follow", id); !strings.Contains(out, dummy.Expected(dummy.Spec{Steps: 60})) {
		t.Errorf("resumed by a worker outside:\n%s", out)
	}
}

func TestServe_SpeaksTLSOnOtherAddresses(t *testing.T) {
	t.Parallel()
	cert, key := selfSigned(t)
	l := newLab(t, "KTRDR_HOSTS=lab.example")
	var said backend.Announcement
	l.begin(&said, "serve", "--addr", "0.0.0.0:0", "--workers", "0", "--tls-cert", cert, "--tls-key", key)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(said.URL, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	l.url = "https://127.0.0.1:" + port
	l.refused(exitUnreachable, "certificate", "status") // its signer is unknown
	l.must("status", "--ca", cert)
	l.must("ops", "--ca", cert)

	w := *l
	w.env = append([]string{"KTRDR_CA=" + cert}, l.env...)
	w.worker()
	id := w.start("--steps", "3", "--step-ms", "1")
	w.must("follow", id)
}

// selfSigned makes a certificate for loopback that vouches for itself.
func selfSigned(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", keyDER)
}

func TestServe_SecondSignalStopsAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t, "KTRDR_AUTH=none")
	p, said := l.serve("--workers", "0")
	// A request whose body never comes keeps a graceful stop waiting.
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(said.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	request := "POST /api/v1/dummy/start HTTP/1.1\r\nHost: " + conn.RemoteAddr().String() +
		"\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
	if _, err := conn.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	l.must("status") // the server has had time to read the header
	p.Signal(syscall.SIGINT)
	labtest.Eventually(t, 10*time.Second, "the stop", func() bool { return strings.Contains(p.Err(), "stopping") })
	begun := time.Now()
	if code := p.End(syscall.SIGINT); code != exitInterrupted {
		t.Errorf("exit code = %d after %v, want %d", code, time.Since(begun), exitInterrupted)
	}
}

func TestBackup_MovesALabFromSQLiteToPostgreSQL(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	l := newLab(t)
	l.serve("--workers", "1")
	id := l.start("--steps", "20", "--step-ms", "1", "--checkpoint-every", "5", "--artifact-bytes", "70000", "--fail-at", "19")
	l.refused(exitFailed, "FAILED", "follow", id)
	file := filepath.Join(t.TempDir(), "lab.tar")
	l.must("backup", file)

	pg := newLab(t, "KTRDR_DB="+url)
	pg.must("restore", file)
	pg.serve("--workers", "1")
	if op := pg.op(id); op.Status != ktrdr.Failed || op.Checkpoint == nil || op.Checkpoint.Step != 18 {
		t.Errorf("restored operation: %s, checkpoint %+v", op.Status, op.Checkpoint)
	}
	again := pg.start("--steps", "5", "--step-ms", "1")
	pg.must("follow", again)
	if out := pg.must("doctor", "--deep"); strings.Contains(out, "✗") || !strings.Contains(out, "postgres") {
		t.Errorf("doctor on PostgreSQL:\n%s", out)
	}
	pg.must("backup", file, "--force")
}
