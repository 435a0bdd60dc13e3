package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// How long the other end of a connection may be gone before the kernel tells
// us: when it was idle, and when it owes us an acknowledgement.
const (
	probeIdle  = 10 * time.Second
	probePause = 5 * time.Second
	probes     = 3
	unanswered = 15 * time.Second
)

// A connection that was not used for a while is asked whether it is still
// there, and given up when it does not answer soon.
const (
	trusted    = time.Second
	answerTime = 2 * time.Second
)

func openPool(config *pgx.ConnConfig) *sql.DB {
	return stdlib.OpenDB(*config, stdlib.OptionShouldPing(func(ctx context.Context, p stdlib.ShouldPingParams) bool {
		if p.IdleDuration <= trusted {
			return false
		}
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		return p.Conn.Ping(ctx) != nil // it is closed then, and the driver's own ping finds that at once
	}))
}

// postgresConfig reads the address.
func postgresConfig(address string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil { // whose text may hold the password
		return nil, errors.New("the address of the database cannot be read: it is postgres://user:password@host:port/database")
	}
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, connectTimeout)
	dialer := net.Dialer{
		Timeout:         config.ConnectTimeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: probeIdle, Interval: probePause, Count: probes},
		Control:         boundUnanswered,
	}
	config.DialFunc = dialer.DialContext
	return config, nil
}

// limited adds our limits to what the address leaves open.
func limited(config *pgx.ConnConfig, lock, statement, idleInTx time.Duration) *pgx.ConnConfig {
	config = config.Copy()
	for name, value := range map[string]string{
		"application_name":                    "ktrdr",
		"lock_timeout":                        millis(lock),
		"statement_timeout":                   millis(statement),
		"idle_in_transaction_session_timeout": millis(idleInTx),
	} {
		if _, set := config.RuntimeParams[name]; !set {
			config.RuntimeParams[name] = value
		}
	}
	return config
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
