package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// options are what the command line says.
type options struct {
	dir, program string
	order        string
	settle       time.Duration
	keep         bool
}

func main() {
	var o options
	flag.StringVar(&o.dir, "dir", os.Getenv("LAB_DIR"), "directory of the lab; a cluster that is up there is used, and left up (LAB_DIR)")
	flag.StringVar(&o.program, "program", "", "kubeloupe's executable; built if empty")
	flag.StringVar(&o.order, "order", "upstream,kubeloupe,upstream", "the agents, in turn")
	flag.DurationVar(&o.settle, "settle", 20*time.Second, "how long to look on after each exchange")
	flag.BoolVar(&o.keep, "keep", false, "leave the pods, the last agent and the cluster")
	flag.Parse()
	if o.dir == "" {
		o.dir = filepath.Join(os.TempDir(), "kubeloupe-swap")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	failed, err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "swap:", err)
		os.Exit(1)
	}
	if failed > 0 {
		fmt.Printf("\n%d failures\n", failed)
		os.Exit(1)
	}
	fmt.Println("\nnothing was restarted, nothing changed that must not")
}
