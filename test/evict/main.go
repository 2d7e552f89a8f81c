package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

func main() {
	dir := flag.String("dir", filepath.Join(os.TempDir(), "kubeloupe-evict"), "directory of the lab")
	only := flag.String("only", "", "regular expression of the scenarios to run")
	rounds := flag.Int("rounds", 1, "how often to run each scenario with each agent, alternating")
	order := flag.String("agents", "kubeloupe,upstream", "the agents")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	same, err := run(ctx, *dir, *only, *rounds, strings.Split(*order, ","))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "evict:", err)
		os.Exit(1)
	}
	if !same {
		os.Exit(1)
	}
}

func run(ctx context.Context, dir, only string, rounds int, agents []string) (same bool, err error) {
	pick, err := regexp.Compile(only)
	if err != nil {
		return false, fmt.Errorf("-only: %w", err)
	}
	cluster, err := lab.UpCluster(ctx, lab.ClusterConfig{Dir: dir, Log: os.Stderr})
	if err != nil {
		return false, err
	}
	defer func() {
		if !cluster.Existing {
			err = errors.Join(err, cluster.Down(context.WithoutCancel(ctx)))
		}
	}()
	client, err := cluster.Client()
	if err != nil {
		return false, err
	}
	b := &bench{cluster: cluster, client: client}
	if err := b.priorities(ctx); err != nil {
		return false, err
	}
	same = true
	for _, s := range scenarios() {
		if !pick.MatchString(s.name) {
			continue
		}
		first := ""
		for round := range rounds {
			for i, kind := range agents {
				got, err := b.try(ctx, &s, lab.AgentKind(kind), fmt.Sprintf("%s-%s-%d", s.name, kind, round))
				if err != nil {
					return false, fmt.Errorf("%s, %s: %w", s.name, kind, err)
				}
				fmt.Printf("%-10s %-10s %s\n", s.name, kind, got)
				if i == 0 && round == 0 {
					first = got.order()
				}
				same = same && got.order() == first
			}
		}
	}
	if !same {
		fmt.Println("the agents do not evict the same pods in the same order")
	}
	return same, nil
}
