package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
)

// Limits on slow clients. Upstream: pkg/kubelet/server/server.go.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 90 * time.Second
	shutdownTimeout   = 2 * time.Second
)

// Check is one health check; nil means healthy.
type Check struct {
	Name  string
	Check func() error
}

// Config says what is served where. A port of 0 is off.
type Config struct {
	HealthzAddress string
	HealthzPort    int32
	Address        string
	ReadOnlyPort   int32
	// Pods are the node's pods with their statuses.
	Pods func() []v1.Pod
	// Metrics answers /metrics; nil leaves it out.
	Metrics http.Handler
	// Checks are asked besides ping.
	Checks []Check
}

// Server is the agent's HTTP servers.
type Server struct {
	cfg    Config
	serves []serve
}

type serve struct {
	listener net.Listener
	server   *http.Server
}

// New returns a server that does not listen yet.
func New(cfg Config) (*Server, error) {
	if cfg.Pods == nil {
		return nil, errors.New("server: Config.Pods is missing")
	}
	return &Server{cfg: cfg}, nil
}

// Listen binds the configured ports.
func (s *Server) Listen(ctx context.Context) error {
	for _, l := range []struct {
		flag, address string
		port          int32
		handler       http.Handler
	}{
		{"--healthz-port", s.cfg.HealthzAddress, s.cfg.HealthzPort, s.health()},
		{"--read-only-port", s.cfg.Address, s.cfg.ReadOnlyPort, s.readOnly()},
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
		s.serves = append(s.serves, serve{listener, &http.Server{
			Handler: readOnlyMethods(l.handler), ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout,
		}})
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
		group.Go(func() error {
			if err := v.server.Serve(v.listener); !errors.Is(err, http.ErrServerClosed) {
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
