package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// options are what the command line says.
type options struct {
	dir, program string
	order        string
	answers, doc string
	contents     string
	requests     bool
}

func main() {
	var o options
	flag.StringVar(&o.dir, "dir", os.Getenv("LAB_DIR"), "directory of the lab; a cluster that is up there is used, and left up (LAB_DIR)")
	flag.StringVar(&o.program, "program", "", "kubeloupe's executable; built if empty")
	flag.StringVar(&o.order, "order", "upstream,kubeloupe", "the agents to ask; without upstream its answers are those of -answers")
	flag.StringVar(&o.answers, "answers", "test/compat/testdata/upstream.json", "where upstream's answers are kept")
	flag.StringVar(&o.contents, "contents", "test/compat/testdata/contents.json", "where the contents of both agents are kept")
	flag.BoolVar(&o.requests, "requests", true, "also send all requests; without them, upstream's answers stay as they are, and no page is written")
	flag.StringVar(&o.doc, "doc", "docs/compatibility.md", "the page with the differences; \"\" writes none")
	flag.Parse()
	if o.dir == "" {
		o.dir = filepath.Join(os.TempDir(), "kubeloupe-compat")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	unexplained, err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "compat:", err)
		os.Exit(1)
	}
	if unexplained > 0 {
		fmt.Printf("%d differences without a reason\n", unexplained)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (unexplained int, err error) {
	cluster, err := lab.UpCluster(ctx, lab.ClusterConfig{Dir: o.dir, Log: os.Stderr})
	if err != nil {
		return 0, err
	}
	defer func() {
		if !cluster.Existing {
			err = errors.Join(err, cluster.Down(context.WithoutCancel(ctx)))
		}
	}()
	all := cases()
	upstream, err := readAnswers(o.answers)
	if err != nil {
		return 0, err
	}
	said, err := readKept(o.contents)
	if err != nil {
		return 0, err
	}
	var ours map[string]answer
	for kind := range strings.SplitSeq(o.order, ",") {
		what, err := lookAt(ctx, cluster, o, lab.AgentKind(kind))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", kind, err)
		}
		var got map[string]answer
		if o.requests {
			if got, err = askAgent(ctx, cluster, o, lab.AgentKind(kind), all); err != nil {
				return 0, fmt.Errorf("%s: %w", kind, err)
			}
		}
		if lab.AgentKind(kind) == lab.Kubeloupe {
			ours, said.Kubeloupe = got, what
		} else {
			said.Upstream = what
			if o.requests {
				upstream = got
			}
		}
	}
	if err := errors.Join(writeAnswers(o.answers, upstream), said.write(o.contents)); err != nil || ours == nil {
		return 0, err
	}
	c, of := compare(all, upstream, ours), contrasted(said)
	for _, d := range c.differences {
		fmt.Println(d)
	}
	for _, d := range of.changes {
		fmt.Println(d)
	}
	for _, why := range of.idle {
		fmt.Println("a reason without a difference:", why)
	}
	if o.doc != "" {
		if err := os.WriteFile(o.doc, []byte(c.page(of)), 0o644); err != nil {
			return 0, err
		}
	}
	return c.unexplained() + of.unexplained() + len(of.idle), nil
}

// askAgent asks an agent that is the cluster's node as long as that takes.
func askAgent(ctx context.Context, cluster *lab.Cluster, o options, kind lab.AgentKind, all []request) (answers map[string]answer, err error) {
	cfg := lab.AgentConfig{Kind: kind, State: "compat", Log: os.Stderr}
	if kind == lab.Kubeloupe {
		cfg.Program = o.program
	}
	agent, err := cluster.StartAgent(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, agent.Stop(context.WithoutCancel(ctx))) }()
	if err := agent.WaitReady(ctx); err != nil {
		return nil, err
	}
	t, err := setUp(ctx, cluster)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "asking %s %d times\n", kind, len(all))
	if answers, err = t.askAll(ctx, all); err != nil {
		return nil, err
	}
	client, err := cluster.Client()
	if err != nil {
		return nil, err
	}
	return answers, scene{cluster, client}.removeFrom(ctx, namespace, podName) // the next agent begins without pods
}
