package podresources

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// asked is a kubelet that notes when it is asked.
type asked struct {
	api.PodResourcesListerClient
	began    time.Time
	lists    []string // seconds since the begin
	machines []string
	list     func() (*api.ListPodResourcesResponse, error)
	machine  error
}

func (a *asked) List(context.Context, *api.ListPodResourcesRequest, ...grpc.CallOption) (*api.ListPodResourcesResponse, error) {
	a.lists = append(a.lists, fmt.Sprint(time.Since(a.began).Seconds()))
	return a.list()
}

func (a *asked) GetAllocatableResources(context.Context, *api.AllocatableResourcesRequest, ...grpc.CallOption) (*api.AllocatableResourcesResponse, error) {
	a.machines = append(a.machines, fmt.Sprint(time.Since(a.began).Seconds()))
	return &api.AllocatableResourcesResponse{}, a.machine
}

// TestTimes asks seldom while nothing changes, soon when a pod comes or goes, and not for long while the kubelet is slow.
func TestTimes(t *testing.T) {
	nothing := func() (*api.ListPodResourcesResponse, error) { return list(), nil }
	seen := &trace.Record{Pod: trace.Pod{Namespace: "ml", Name: "db"}, Event: &trace.Milestone{Name: trace.MilestoneSeen}}
	for name, c := range map[string]struct {
		list            func() (*api.ListPodResourcesResponse, error)
		meanwhile       func(*Poll)
		lists, machines string
	}{
		"nothing changes": {nothing, func(*Poll) { time.Sleep(80 * time.Second) }, "0 5 15 35 55 75", "0 15 35 55 75"},
		"something changes each time": {func() func() (*api.ListPodResourcesResponse, error) {
			n := int64(0)
			return func() (*api.ListPodResourcesResponse, error) {
				n++
				return list(pod("db", &api.ContainerResources{Name: "sql", CpuIds: []int64{n}})), nil
			}
		}(), func(*Poll) { time.Sleep(21 * time.Second) }, "0 5 10 15 20", "0 15"},
		"pods come": {nothing, func(p *Poll) {
			time.Sleep(40 * time.Second)
			p.See(seen)
			time.Sleep(time.Second)
			for range 100 {
				p.See(seen)
			}
			time.Sleep(10 * time.Second)
		}, "0 5 15 35 40 42", "0 15 35"},
		"pods that were there, and other records": {nothing, func(p *Poll) {
			time.Sleep(40 * time.Second)
			p.See(&trace.Record{Event: &trace.Milestone{Name: trace.MilestoneSeen, Adopted: true}})
			p.See(&trace.Record{Event: &trace.Milestone{Name: trace.MilestoneReady}})
			p.See(&trace.Record{Event: &trace.Worker{To: trace.WorkerTerminating}})
			p.See(&trace.Record{Event: &trace.Log{}})
			time.Sleep(10 * time.Second)
		}, "0 5 15 35", "0 15 35"},
		"a slow kubelet": {func() (*api.ListPodResourcesResponse, error) {
			time.Sleep(time.Second)
			return list(), nil
		}, func(p *Poll) {
			time.Sleep(50 * time.Second)
			p.See(seen)
			time.Sleep(60 * time.Second)
		}, "0 100", "0 100"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				a, p, done := &asked{began: time.Now(), list: c.list}, New("", Machine{}), make(chan error)
				go func() { done <- p.run(ctx, a, func(trace.Record) {}) }()
				c.meanwhile(p)
				cancel()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				if got := strings.Join(a.lists, " "); got != c.lists {
					t.Errorf("listed at %s, want %s", got, c.lists)
				}
				if got := strings.Join(a.machines, " "); got != c.machines {
					t.Errorf("asked for the node at %s, want %s", got, c.machines)
				}
			})
		})
	}
}

// TestPatience waits a minute after a refusal, and compares with what it knew before.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		db := list(pod("db", &api.ContainerResources{Name: "sql", CpuIds: []int64{2}}))
		answers := []any{db, status.Error(codes.ResourceExhausted, "rejected by rate limit"), status.Error(codes.Unavailable, strings.Repeat("x", 5000)), db, list()}
		a := &asked{began: time.Now(), machine: status.Error(codes.Unknown, "API GetAllocatableResources disabled")}
		a.list = func() (*api.ListPodResourcesResponse, error) {
			next := answers[0]
			if answers = answers[1:]; len(answers) == 0 {
				cancel()
			}
			if err, is := next.(error); is {
				return nil, err
			}
			return next.(*api.ListPodResourcesResponse), nil
		}
		var got []string
		p := New("", Machine{})
		for ctx.Err() == nil {
			if err := p.run(ctx, a, func(r trace.Record) { got = append(got, tell(&r)) }); len(err.Error()) > maxError {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		}
		if s := strings.Join(a.lists, " "); s != "0 5 65 65 75" {
			t.Errorf("listed at %s", s)
		}
		const want = `attach: the podresources API does not say what the node can give to containers
node:     reserved :
ml/db/sql: kept cpu 2 on 
ml/db/sql: released cpu unlisted 2 on `
		if s := strings.Join(got, "\n"); s != want {
			t.Errorf("got\n%s\nwant\n%s", s, want)
		}
	})
}

// TestAgain tells again what a pod has whose name had another pod.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		a := &asked{began: time.Now(), list: func() (*api.ListPodResourcesResponse, error) {
			return list(pod("db", &api.ContainerResources{Name: "sql", CpuIds: []int64{2}}), pod("web", &api.ContainerResources{Name: "web", CpuIds: []int64{3}})), nil
		}}
		var got []string
		p := New("", Machine{})
		done := make(chan error)
		go func() { done <- p.run(ctx, a, func(r trace.Record) { got = append(got, tell(&r)) }) }()
		time.Sleep(10 * time.Second)
		for _, e := range []trace.Event{&trace.Milestone{Name: trace.MilestoneGone}, &trace.Worker{To: trace.WorkerTerminated}} {
			if !p.See(&trace.Record{Pod: trace.Pod{Namespace: "ml", Name: "db", UID: "1"}, Event: e}) {
				t.Error("took a record of others back")
			}
			time.Sleep(time.Minute)
		}
		cancel()
		<-done
		const want = "node:     reserved :\nml/db/sql: kept cpu 2 on \nml/web/web: kept cpu 3 on \nml/db/sql: granted cpu 2 on \nml/db/sql: granted cpu 2 on "
		if s := strings.Join(got, "\n"); s != want {
			t.Errorf("got\n%s\nwant\n%s", s, want)
		}
	})
}
