package kubeletpoll

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/inspect/attach/kubeletapi"
	"github.com/kubeloupe/kubeloupe/inspect/attach/podobject"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// Every is how often the kubelet is asked.
	Every = 3 * time.Second
	// lateAnswer is how long a call takes at least to be told of.
	lateAnswer = time.Second
	// lateCgroup is how long an operation on cgroups takes at least to be told of.
	lateCgroup = 100 * time.Millisecond
)

// Poll asks a kubelet. Use [New].
type Poll struct {
	from   func() *kubeletapi.Client
	client *kubeletapi.Client
	pods   *podobject.Fold // nil: others show them
	put    func(trace.Record)
	denied map[string]bool
	last   figures
	asked  time.Time // when last was read
	listed time.Time // when the pods were asked for, the last time that they came
	// A kubelet whose runtime does not answer may not answer either: from the first request since then to the end of the last one.
	silent, silentTo time.Time
	health           string
}

// errNone says that there are no credentials with which the kubelet answers.
var errNone = errors.New("there are no credentials for the kubelet's API")

// New returns a poll. from is the client of the kubelet that runs now, nil where there is none: each Run calls it, as a kubelet that was started
// again may have its files and its port elsewhere. pods says whether the kubelet's pods are to be read, too.
func New(from func() *kubeletapi.Client, pods bool) *Poll {
	p := &Poll{from: from, denied: map[string]bool{}}
	if pods {
		p.pods = podobject.NewFold(trace.ObserverKubeletAPI, Every)
	}
	return p
}

// Run asks until ctx ends or nothing is permitted, which is an error. put takes the records.
func (p *Poll) Run(ctx context.Context, put func(trace.Record)) error {
	if p.client = p.from(); p.client == nil {
		return errNone
	}
	p.put = put
	clear(p.denied)
	p.last, p.silent = nil, time.Time{}
	if body, err := p.get(ctx, "/configz"); err != nil {
		return err
	} else if body != nil {
		p.settings(body)
	}
	t := time.NewTicker(Every)
	defer t.Stop()
	for {
		if err := p.look(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
}

// look asks once. A kubelet that does not answer in time is asked again, for up to a minute.
func (p *Poll) look(ctx context.Context) error {
	before := time.Now()
	err := p.ask(ctx)
	late := isTimeout(err) && ctx.Err() == nil
	if late && p.silent.IsZero() {
		p.silent = before
	}
	if p.silentTo = time.Now(); !late || p.silentTo.Sub(p.silent) > time.Minute {
		return err
	}
	return nil
}

func isTimeout(err error) bool {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

// ask asks for everything: for the pods first, because metrics are late when the runtime is.
func (p *Poll) ask(ctx context.Context) error {
	if p.pods != nil {
		if err := p.list(ctx); err != nil {
			return err
		}
	}
	before := time.Now()
	text, err := p.get(ctx, "/metrics")
	if err != nil {
		return err
	}
	if text != nil {
		f, err := parse(text)
		if err != nil {
			return fmt.Errorf("read the kubelet's metrics: %w", err)
		}
		p.slow(f, time.Now())
		p.last, p.asked, p.silent = f, before, time.Time{}
	}
	return p.healthy(ctx)
}

// get asks for a path, unless it is known that these rights do not suffice: then there is nothing. Where nothing is permitted, this is an
// error.
func (p *Poll) get(ctx context.Context, path string) ([]byte, error) {
	if p.denied[path] {
		return nil, nil
	}
	text, err := p.client.Get(ctx, path)
	none, answered := errors.AsType[*kubeletapi.StatusError](err)
	if !errors.Is(err, kubeletapi.ErrDenied) && !(answered && none.Code == http.StatusNotFound) { // the read-only port has not all
		return text, err
	}
	p.denied[path] = true
	asks := 3
	if p.pods != nil {
		asks++
	}
	if len(p.denied) >= asks {
		return nil, fmt.Errorf("%w: %s: get of nodes/configz, nodes/metrics, nodes/healthz and nodes/pods is needed, or before Kubernetes 1.33 get of nodes/proxy and nodes/metrics",
			kubeletapi.ErrDenied, strings.Join(slices.Sorted(maps.Keys(p.denied)), ", "))
	}
	p.log(trace.LevelInfo, "attach: the kubelet does not permit to read "+path)
	return nil, nil
}

// slow tells of what took long since the last time. It ended since then, and began at least so long before: only what lies between is sure. Of
// an operation on cgroups, which is shorter than the time between two answers, the whole is told, as exactly as that time.
func (p *Poll) slow(now figures, at time.Time) {
	interval := at.Sub(p.asked)
	for what, h := range now {
		was, ok := p.last[what]
		if !ok {
			continue
		}
		longest := h.longest(&was)
		if what.cgroup != "" {
			if longest >= lateCgroup {
				p.put(trace.Record{
					Time: at.UnixNano(), Edge: trace.EdgeEnd, Dur: longest, Span: trace.NewSpanID(), Observer: trace.ObserverKubeletAPI,
					Precision: trace.PrecisionOf(interval), Event: &trace.CgroupOp{Op: what.cgroup},
				})
			}
			continue
		}
		end, sure := p.asked, longest-interval
		if silent := p.silentTo.Sub(p.silent); !p.silent.IsZero() && min(silent, 2*longest-silent) > sure { // that is why it did not answer
			sure = min(silent, 2*longest-silent) // the part of its silence that was so wherever what took longest lies in it
			end = p.silentTo.Add((sure - silent) / 2)
		}
		if sure < lateAnswer {
			continue
		}
		var e trace.Event = &trace.CRICall{Method: what.method}
		if what.method == "" {
			e = &trace.PLEGRelist{Cause: trace.RelistPeriod}
		}
		p.put(trace.Record{
			Time: end.UnixNano(), Edge: trace.EdgeEnd, Dur: sure, Span: trace.NewSpanID(), Observer: trace.ObserverKubeletAPI, Precision: trace.PrecisionOf(interval), Event: e,
		})
	}
}

// healthy tells when the kubelet's own check of its syncLoop begins to fail, and when it passes again.
func (p *Poll) healthy(ctx context.Context) error {
	const path = "/healthz/syncloop"
	_, err := p.get(ctx, path)
	said := ""
	if _, unhealthy := errors.AsType[*kubeletapi.StatusError](err); unhealthy {
		said, err = trace.Clip(err.Error(), 512), nil
	}
	if err == nil && said != p.health && !p.denied[path] {
		if said != "" {
			p.log(trace.LevelError, "attach: the kubelet's check of its syncLoop fails: "+said)
		} else {
			p.log(trace.LevelInfo, "attach: the kubelet's check of its syncLoop passes again")
		}
		p.health = said
	}
	return err
}

func (p *Poll) list(ctx context.Context) error {
	before := time.Now()
	text, err := p.get(ctx, "/pods")
	if text == nil || err != nil {
		return err
	}
	var list v1.PodList
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("read the kubelet's pods: %w", err)
	}
	now, there := time.Now(), map[string]bool{}
	if !p.listed.IsZero() {
		p.pods.Late(max(Every, now.Sub(p.listed)))
	}
	p.listed = before
	for i := range list.Items {
		there[podobject.UID(&list.Items[i])] = true
		for _, r := range p.pods.Apply(&list.Items[i], now) {
			p.put(r)
		}
	}
	p.pods.Only(there)
	p.pods.Synced()
	return nil
}

func (p *Poll) log(level trace.LogLevel, text string, attrs ...trace.KV) {
	p.put(trace.Record{
		Time: time.Now().UnixNano(), Span: trace.NewSpanID(), Observer: trace.ObserverKubeletAPI, Precision: trace.PrecisionOf(Every),
		Event: &trace.Log{Level: level, Message: text, Attrs: attrs},
	})
}
