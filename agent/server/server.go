package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubeloupe/kubeloupe/agent/conns"
	"github.com/kubeloupe/kubeloupe/agent/guestfile"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Server is the agent's HTTP servers.
type Server struct {
	cfg    Config
	tls    *tls.Config
	began  time.Time
	serves []serve

	// unknown are the requests of unknown connections; streams and answers are authorized ones.
	unknown, streams, answers *conns.Share
	// runs has an element for each running command of /run.
	runs chan struct{}

	mu        sync.Mutex
	unhealthy map[string]string // the last errors of health checks
}

type serve struct {
	listener net.Listener
	server   *http.Server
}

func (v serve) serve() error {
	if v.server.TLSConfig != nil { // requests on connections that were handed over are finished
		return v.server.ServeTLS(v.listener, "", "")
	}
	return v.server.Serve(v.listener)
}

// New returns a server that does not listen yet.
func New(cfg Config) (*Server, error) {
	if cfg.Pods == nil || cfg.Pod == nil {
		return nil, errors.New("server: Config.Pods or Pod is missing")
	}
	if cfg.Files == nil {
		cfg.Files = guestfile.New(guestfile.Config{})
	}
	s := &Server{
		runs: make(chan struct{}, maxRuns), unhealthy: map[string]string{},
		cfg: cfg, began: time.Now(), unknown: conns.NewShare(unknownRequests, unknownRequestsEach),
		streams: conns.NewShare(streams, streamsEach), answers: conns.NewShare(answers, answersEach),
	}
	if cfg.Port == 0 {
		return s, nil
	}
	if cfg.Auth == nil || cfg.Observed == nil || cfg.Runtime == nil {
		return nil, errors.New("server: Config.Auth, Observed or Runtime is missing, which Port needs")
	}
	var err error
	if s.tls, err = cfg.TLS.config(); err != nil {
		return nil, err
	}
	for _, warning := range cfg.TLS.warnings() {
		trace.Point(cfg.Bus, trace.Span{}, warning)
	}
	return s, nil
}

// Listen binds the configured ports.
func (s *Server) Listen(ctx context.Context) error {
	for _, l := range []struct {
		flag, address string
		port          int32
		name          trace.ServerName
		handler       func() http.Handler
	}{
		{"--healthz-port", s.cfg.HealthzAddress, s.cfg.HealthzPort, trace.ServerHealthz, s.health},
		{"--read-only-port", s.cfg.Address, s.cfg.ReadOnlyPort, trace.ServerReadOnly, s.open},
		{"--port", s.cfg.Address, s.cfg.Port, trace.ServerHTTPS, s.secure},
	} {
		if l.port == 0 {
			continue
		}
		address := net.JoinHostPort(l.address, strconv.Itoa(int(l.port)))
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			s.Close()
			return fmt.Errorf("%s: %w\n  remedy: stop the program that listens there (another kubelet?), choose another port, or disable it with %s=0", l.flag, err, l.flag)
		}
		bounded := s.bounded(listener, l.name, l.handler())
		s.serves = append(s.serves, bounded)
		if l.name == trace.ServerHTTPS {
			s.serves = append(s.serves, overHTTP2(bounded.server, listener))
		}
	}
	return nil
}

// bounded returns how a port is served, with its limits. A caller that is not authorized may be anyone.
func (s *Server) bounded(l net.Listener, name trace.ServerName, h http.Handler) serve {
	limits := plainLimits
	server := &http.Server{
		Handler:           s.traced(name, h),
		MaxHeaderBytes:    maxPlainHeaderBytes,
		ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, WriteTimeout: plainTimeout,
		ConnContext: withConn, ConnState: noteState,
		ErrorLog: log.New(io.Discard, "", 0), // of handshakes that scanners and probes abort
	}
	if name == trace.ServerHTTPS {
		limits = secureLimits
		server.MaxHeaderBytes, server.WriteTimeout, server.TLSConfig = maxHeaderBytes, 0, certified(s.tls, s.cfg.Auth)
	}
	return serve{conns.New(l, limits), server}
}

// Addresses returns what Listen bound, health first.
func (s *Server) Addresses() []string {
	out := make([]string, 0, len(s.serves))
	for _, v := range s.serves {
		out = append(out, v.listener.Addr().String())
	}
	return out
}

// Run serves until ctx ends or a listener fails, then waits for open requests to finish.
func (s *Server) Run(ctx context.Context) error {
	group, failed := errgroup.WithContext(ctx)
	for _, v := range s.serves {
		v.server.BaseContext = func(net.Listener) context.Context { return ctx } // followed logs end with it
		group.Go(func() error {
			if err := v.serve(); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
	}
	<-failed.Done()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	var ends sync.WaitGroup
	for _, v := range s.serves {
		ends.Go(func() {
			if err := v.server.Shutdown(end); err != nil {
				_ = v.server.Close() // open connections have had enough time
			}
		})
	}
	ends.Wait()
	return group.Wait()
}

// Close closes the listeners. Only a server that does not run needs it.
func (s *Server) Close() {
	for _, v := range s.serves {
		_ = v.listener.Close() // nothing was served on it
	}
	s.serves = nil
}
