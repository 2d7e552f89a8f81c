package sim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// maxMessage limits a gRPC message, in bytes, as in containerd and the kubelet.
const maxMessage = 16 << 20

// Server is a simulated runtime. Its methods are those of the CRI; they can be called directly or over gRPC. Messages
// that a method returns share parts with the server and must not be changed.
//
// Many fields: a runtime has sandboxes, containers, images, streams and faults, all under one lock.
type Server struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	runtimeapi.UnimplementedImageServiceServer

	cfg    Config
	events *eventQueue
	faults faultTable
	procs  sync.WaitGroup

	mu                           sync.Mutex // guards the fields below; never held while waiting
	rand                         *rand.Rand
	order                        uint64
	sandboxNames, containerNames map[string]string // reserved names, to IDs
	sandboxes                    map[string]*sandbox
	containers                   map[string]*container
	ips                          ipPool
	registry                     map[string]*Image // by all references
	images                       map[string]*storedImage
	refs                         map[string]string // references of images on the node, to IDs
	layers                       map[string]*layerState
	conditions                   []*runtimeapi.RuntimeCondition
	noPlugin                     string // the missing CNI plugin
	closed                       bool
}

// New returns a runtime without pods and goroutines.
func New(cfg Config) (*Server, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	seed := cfg.Seed
	if seed == 0 {
		seed = rand.Uint64()
	}
	s := &Server{
		cfg:            cfg,
		events:         newEventQueue(),
		rand:           rand.New(rand.NewPCG(seed, 0)),
		sandboxNames:   map[string]string{},
		containerNames: map[string]string{},
		sandboxes:      map[string]*sandbox{},
		containers:     map[string]*container{},
		registry:       map[string]*Image{},
		images:         map[string]*storedImage{},
		refs:           map[string]string{},
		layers:         map[string]*layerState{},
		conditions: []*runtimeapi.RuntimeCondition{
			{Type: runtimeapi.RuntimeReady, Status: true},
			{Type: runtimeapi.NetworkReady, Status: true},
		},
	}
	for _, image := range cfg.Images {
		if err := image.complete(); err != nil {
			return nil, err
		}
		s.registry[image.Name] = &image
		s.registry[image.repoDigest()] = &image
		if image.Present {
			s.storeImage(&image, image.Name)
			for _, l := range image.Layers {
				s.layers[l.Digest] = &layerState{size: l.Size, present: true}
			}
		}
	}
	return s, nil
}

// Listen opens a unix socket at path. It replaces the socket of a server that no longer runs, and nothing else.
func Listen(path string) (net.Listener, error) {
	if most := len(unix.RawSockaddrUnix{}.Path) - 1; len(path) > most {
		return nil, fmt.Errorf("listen on %s: the path has %d bytes and a socket's at most %d: give a shorter one, or set TMPDIR to a shorter directory", path, len(path), most)
	}
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("listen on %s: the file exists and is not a socket", path)
	case err == nil:
		if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
			_ = conn.Close()
			return nil, fmt.Errorf("listen on %s: another server is listening there", path)
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // its server may have ended just now
			return nil, fmt.Errorf("remove stale socket: %w", err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	return net.Listen("unix", path)
}

// Run listens on a unix socket at path and serves until ctx ends. Then it removes the socket and closes the server.
func (s *Server) Run(ctx context.Context, path string) error {
	defer s.Close()
	lis, err := Listen(path)
	if err != nil {
		return err
	}
	return s.Serve(ctx, lis)
}

// Serve serves on lis until ctx ends, then closes lis and returns nil. Pods continue to run: a second Serve, on another
// listener, simulates a restarted runtime. The caller closes the server.
func (s *Server) Serve(ctx context.Context, lis net.Listener) error {
	g := grpc.NewServer(grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage))
	runtimeapi.RegisterRuntimeServiceServer(g, s)
	runtimeapi.RegisterImageServiceServer(g, s)
	defer context.AfterFunc(ctx, g.Stop)()
	if err := g.Serve(lis); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve the simulated runtime: %w", err)
	}
	return nil
}

// Close kills all containers and waits for their goroutines. It sends no events for this. A closed server starts no
// containers. Close can be called again.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for _, c := range s.containers {
		if c.proc != nil {
			c.proc.Signal("KILL")
		}
	}
	s.mu.Unlock()
	s.procs.Wait()
}

// SetCondition changes a condition of the runtime's status, RuntimeReady or NetworkReady.
func (s *Server) SetCondition(name string, ok bool, reason, message string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.setCondition(name, ok, reason, message) {
		return fmt.Errorf("condition %q: want %s or %s", name, runtimeapi.RuntimeReady, runtimeapi.NetworkReady)
	}
	return nil
}

// setCondition reports whether a condition of that name exists. Called with mu.
func (s *Server) setCondition(name string, ok bool, reason, message string) bool {
	for i, c := range s.conditions {
		if c.GetType() == name {
			s.conditions[i] = &runtimeapi.RuntimeCondition{Type: name, Status: ok, Reason: reason, Message: message}
			return true
		}
	}
	return false
}
