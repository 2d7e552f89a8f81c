// Command registry is the laboratory's OCI registry: it serves the images of
// OCI layouts and what is pushed to it, as fast or as slowly as told.
//
// It owns the pushed blobs below --data; pushed manifests are lost when it
// ends. It never changes a layout. It publishes no trace events.
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
	layouts := flag.String("layout", "", "OCI layouts with the images to serve, separated by commas")
	data := flag.String("data", "", "directory for what is pushed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, *layouts, *data); err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addr, layouts, data string) error {
	if layouts == "" || data == "" {
		return errors.New("--layout and --data are needed")
	}
	store, err := newStore(data, strings.Split(layouts, ",")...)
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
