// Command registry is the laboratory's OCI registry: it serves the images of an
// OCI layout and what is pushed to it, as fast or as slowly as told.
//
// It owns the pushed blobs below --data; pushed manifests are lost when it
// ends. It never changes the layout. It publishes no trace events.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "address to listen on")
	layout := flag.String("layout", "", "OCI layout with the images to serve")
	data := flag.String("data", "", "directory for what is pushed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, *layout, *data); err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addr, layout, data string) error {
	if layout == "" || data == "" {
		return errors.New("--layout and --data are needed")
	}
	store, err := newStore(layout, data)
	if err != nil {
		return err
	}
	handler := registry.New(registry.WithBlobHandler(store), registry.Logger(log.Default()))
	if err := store.publish(handler); err != nil {
		return err
	}

	t := new(throttle)
	mux := http.NewServeMux()
	mux.HandleFunc("/lab/limits", t.serveLimits)
	mux.Handle("/", t.wrap(handler))
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: mux}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	log.Printf("serving %s on %s", strings.Join(store.names, " "), l.Addr())
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
