package pgtest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// startTimeout is how long a server may take to accept connections, crash
// recovery included.
const startTimeout = 60 * time.Second

// Cluster is one PostgreSQL server with its folder.
type Cluster struct {
	bin       string
	dir       string // holds data/, log and the socket
	password  string
	port      int
	collation string // of CREATE DATABASE
	strategy  string // of CREATE DATABASE from a prepared one
	owner     *syscall.Credential
	syncs     bool // whether a commit waits for the disk

	server *process   // nil when stopped
	t      testing.TB // whose it is; nil for the shared one
}

// process is a child whose end can be waited for by several.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed after Wait
}

func newCluster(syncs bool) (*Cluster, error) {
	bin, err := findBinaries()
	if err != nil {
		return nil, err
	}
	owner, err := serverUser()
	if err != nil {
		return nil, err
	}
	parent := ""
	if !syncs {
		parent = memory()
	}
	dir, err := os.MkdirTemp(parent, "pgtest-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{bin: bin, dir: dir, password: rand.Text(), owner: owner, syncs: syncs}
	if err := c.init(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := c.start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

// memory returns a folder that is kept in memory, if the system has one with
// room for many databases, or "". A database is hundreds of small files, and a
// disk takes ten times the CPU time of memory to copy them.
func memory() string {
	const folder, room = "/dev/shm", 2 << 30
	var disk syscall.Statfs_t
	if syscall.Statfs(folder, &disk) != nil || uint64(disk.Bavail)*uint64(disk.Bsize) < room {
		return ""
	}
	left, _ := filepath.Glob(folder + "/pgtest-*")
	for _, dir := range left {
		removeLeft(dir)
	}
	return folder
}

// removeLeft removes the folder of a server that ended with a killed test
// binary: a server that runs has its postmaster.pid.
func removeLeft(dir string) {
	made, err := os.Stat(dir)
	_, running := os.Stat(filepath.Join(dir, "data", "postmaster.pid"))
	if err == nil && errors.Is(running, fs.ErrNotExist) && time.Since(made.ModTime()) > startTimeout {
		_ = os.RemoveAll(dir) // it may be another user's
	}
}

// findBinaries returns the folder of initdb and postgres. Distributions keep
// them out of PATH, one folder per version: the newest is taken.
func findBinaries() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin/initdb",
		"/usr/pgsql-*/bin/initdb",
		"/usr/local/pgsql/bin/initdb",
		"/opt/homebrew/opt/postgresql@*/bin/initdb",
	} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return filepath.Dir(slices.Max(found)), nil
		}
	}
	return "", errMissing
}

// serverUser returns the user to run the server as: PostgreSQL refuses root, so
// root becomes the user postgres. Nil means as we are.
func serverUser() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("%w, and root may not run it: %w", errMissing, err)
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
}

// init makes the data folder.
func (c *Cluster) init() error {
	secret := filepath.Join(c.dir, "password")
	if err := os.WriteFile(secret, []byte(c.password), 0o600); err != nil {
		return err
	}
	if c.owner != nil {
		if err := errors.Join(c.chown(c.dir), c.chown(secret)); err != nil {
			return err
		}
	}
	// MD5 keeps connecting cheap, SCRAM hashes 4,096 times; the network is the loopback.
	cmd := exec.Command(filepath.Join(c.bin, "initdb"), "--pgdata", c.data(), "--no-sync",
		"--username", "postgres", "--auth", "md5", "--pwfile", secret, "--encoding", "UTF8", "--locale", "C")
	cmd.Dir = c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.owner}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

func (c *Cluster) chown(path string) error {
	return os.Chown(path, int(c.owner.Uid), int(c.owner.Gid))
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *Cluster) url(database string) string {
	return fmt.Sprintf("postgres://postgres:%s@127.0.0.1:%d/%s?sslmode=disable", c.password, c.port, database)
}

// start runs the server until it accepts connections. Another program may take
// the free port between finding and using it, so a server that ends at once
// gets another; a restarted cluster keeps its own, because clients know it.
func (c *Cluster) start() error {
	fixed := c.port != 0
	var err error
	for range 5 {
		if !fixed {
			if c.port, err = freePort(); err != nil {
				return err
			}
		}
		if err = c.launch(); err != nil {
			return err
		}
		if err = c.awaitReady(); err == nil {
			return nil
		}
		if stopErr := c.stop(syscall.SIGQUIT); stopErr != nil {
			return errors.Join(err, stopErr)
		}
	}
	return err
}

// launch starts the server so that it dies with us, even when we are killed:
// the kernel sends it SIGQUIT, its "immediate" stop. The kernel means the
// thread that started it, so that thread stays until the server has ended.
func (c *Cluster) launch() error {
	log, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(c.bin, "postgres"), "-D", c.data(), "-p", strconv.Itoa(c.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="+c.dir,
		"-c", "max_connections=200", "-c", "shared_buffers=64MB", "-c", "fsync="+strconv.FormatBool(c.syncs))
	if !c.syncs { // nor does it write for the crash of a machine, for replicas, or for databases that live longer than a test
		cmd.Args = append(cmd.Args, "-c", "full_page_writes=off", "-c", "wal_level=minimal", "-c", "max_wal_senders=0", "-c", "autovacuum=off")
	}
	cmd.Dir = c.dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.owner, Setpgid: true} // no Ctrl-C of ours reaches it
	dieWithParent(cmd.SysProcAttr)

	p := &process{cmd: cmd, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer close(p.ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	c.server = p
	return nil
}

// awaitReady waits until the server answers and learns how it sorts and copies.
func (c *Cluster) awaitReady() error {
	deadline := time.After(startTimeout)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := c.exec("SELECT 1")
		if err == nil {
			if c.exec(
				`SELECT 1/count(*) FROM pg_collation WHERE collname = 'en-US-x-icu' AND current_setting('server_version_num')::int >= 150000`) == nil {
				c.collation = ` LOCALE_PROVIDER icu ICU_LOCALE 'en-US'`
			}
			if c.exec(`SELECT 1/(current_setting('server_version_num')::int / 150000)`) == nil {
				c.strategy = ` STRATEGY FILE_COPY` // the only one before
			}
			return nil
		}
		select {
		case <-tick.C:
		case <-c.server.ended:
			return fmt.Errorf("PostgreSQL ended while starting: %s", c.logTail())
		case <-deadline:
			return fmt.Errorf("PostgreSQL did not accept connections in %v: %w: %s", startTimeout, err, c.logTail())
		}
	}
}

func (c *Cluster) logTail() string {
	text, err := os.ReadFile(filepath.Join(c.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(text[max(0, len(text)-2000):]))
}

// freePort returns a loopback port that is free.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// Stop ends the server: immediate is a crash, which the next start recovers
// from; otherwise clients are cut off and everything is written.
func (c *Cluster) Stop(immediate bool) {
	c.t.Helper()
	sig := syscall.SIGINT
	if immediate {
		sig = syscall.SIGQUIT
	}
	if err := c.stop(sig); err != nil {
		c.t.Fatal(err)
	}
}

// Restart starts the stopped server again, at the same address.
func (c *Cluster) Restart() {
	c.t.Helper()
	if c.running() {
		c.t.Fatal("the cluster is running already")
	}
	if err := c.start(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *Cluster) running() bool { return c.server != nil }

func (c *Cluster) stop(sig syscall.Signal) error {
	if c.server == nil {
		return nil
	}
	p := c.server
	c.server = nil
	_ = p.cmd.Process.Signal(sig) // an ended process needs none
	select {
	case <-p.ended:
		return nil
	case <-time.After(startTimeout):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("PostgreSQL did not stop in %v and was killed", startTimeout)
	}
}

// remove ends the server and deletes its folder.
func (c *Cluster) remove() error {
	err := c.stop(syscall.SIGQUIT)
	if rmErr := os.RemoveAll(c.dir); !errors.Is(rmErr, fs.ErrNotExist) {
		err = errors.Join(err, rmErr)
	}
	return err
}
