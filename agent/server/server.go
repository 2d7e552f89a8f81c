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
	"time"

	"golang.org/x/sync/errgroup"
)

// Limits on slow clients. Upstream: pkg/kubelet/server/server.go.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 90 * time.Second
	shutdownTimeout   = 2 * time.Second
)

// Server is the agent's HTTP servers.
type Server struct {
	cfg    Config
	tls    *tls.Config
	began  time.Time
	serves []serve
}

type serve struct {
	listener net.Listener
	server   *http.Server
}

// secureName is the authenticated port in records.
const secureName = "https"

func (v serve) serve() error {
	if v.server.TLSConfig != nil {
		return v.server.ServeTLS(v.listener, "", "")
	}
	return v.server.Serve(v.listener)
}

// New returns a server that does not listen yet.
func New(cfg Config) (*Server, error) {
	if cfg.Pods == nil {
		return nil, errors.New("server: Config.Pods is missing")
	}
	s := &Server{cfg: cfg, began: time.Now()}
	if cfg.Port == 0 {
		return s, nil
	}
	if cfg.Auth == nil || cfg.Observed == nil || cfg.Runtime == nil {
		return nil, errors.New("server: Config.Auth, Observed or Runtime is missing, which Port needs")
	}
	var err error
	s.tls, err = cfg.TLS.config()
	return s, err
}

// Listen binds the configured ports.
func (s *Server) Listen(ctx context.Context) error {
	for _, l := range []struct {
		flag, address string
		port          int32
		name          string
		handler       func() http.Handler
	}{
		{"--healthz-port", s.cfg.HealthzAddress, s.cfg.HealthzPort, "healthz", func() http.Handler { return readOnlyMethods(s.health()) }},
		{"--read-only-port", s.cfg.Address, s.cfg.ReadOnlyPort, "read-only", func() http.Handler { return readOnlyMethods(s.readOnly()) }},
		{"--port", s.cfg.Address, s.cfg.Port, secureName, s.secure},
	} {
		if l.port == 0 {
			continue
		}
		address := net.JoinHostPort(l.address, strconv.Itoa(int(l.port)))
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			s.Close()
			return fmt.Errorf("%s: %w\n  remedy: end what listens there (another kubelet?), choose another port, or turn it off with %s=0", l.flag, err, l.flag)
		}
		server := &http.Server{
			Handler: s.traced(l.name, l.handler()), ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout,
			ErrorLog: log.New(io.Discard, "", 0), // of handshakes that scanners and probes break off
		}
		if l.name == secureName {
			server.TLSConfig = s.tls
		}
		s.serves = append(s.serves, serve{listener, server})
	}
	return nil
}

// Addresses returns what Listen bound, health first.
func (s *Server) Addresses() []string {
	out := make([]string, 0, len(s.serves))
	for _, v := range s.serves {
		out = append(out, v.listener.Addr().String())
	}
	return out
}

// Run serves until ctx ends or a listener fails, then lets requests that are under way finish.
func (s *Server) Run(ctx context.Context) error {
	group, failed := errgroup.WithContext(ctx)
	for _, v := range s.serves {
		v.server.BaseContext = func(net.Listener) context.Context { return ctx } // who follows a log ends with it
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
	for _, v := range s.serves {
		if err := v.server.Shutdown(end); err != nil {
			_ = v.server.Close() // whoever is still connected has had its time
		}
	}
	return group.Wait()
}

// Close ends what Listen bound. Only a server that does not run needs it.
func (s *Server) Close() {
	for _, v := range s.serves {
		_ = v.listener.Close() // nothing was served on it
	}
	s.serves = nil
}

// readOnlyMethods refuses whatever would change something.
func readOnlyMethods(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD are served here", http.StatusMethodNotAllowed)
			return
		}
		h.ServeHTTP(w, r)
	})
}
