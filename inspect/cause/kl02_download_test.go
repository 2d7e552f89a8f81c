package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

const mib = 1 << 20

// pull is a pull of shop/web:1, and progress how far it has come.
type progress struct {
	at   time.Duration
	done int64
}

func pull(s *casetest.Script, to time.Duration, total int64, known ...progress) trace.SpanID {
	act := s.Action(0, to, trace.Action{ID: "image shop/web:1", Verb: trace.VerbImage, Target: "shop/web:1"})
	span := s.Span(0, to, act, &trace.ImagePull{Image: "shop/web:1", Bytes: total})
	for _, p := range known {
		s.Point(p.at, span, &trace.ImageProgress{Image: "shop/web:1", Done: p.done, Total: total, Source: "content-store"})
	}
	return span
}

func runtimeSpan(s *casetest.Script, parent trace.SpanID, from, to time.Duration, name string, attrs ...trace.KV) trace.SpanID {
	return s.Point(to+time.Second, parent, &trace.RuntimeSpan{
		Name: name, Service: "containerd", Start: tape.Epoch.Add(from).UnixNano(), Dur: to - from, Attrs: attrs,
	})
}

func TestSlowNetwork(t *testing.T) {
	run(t, "KL02", []script{
		{
			name: "by progress", want: "68 MiB of the image web:1 took 4.30s to arrive, 16 MiB/s", cost: 4300 * ms, confidence: cause.Likely,
			write: func(s *casetest.Script) {
				pull(s, 5*sec, 68*mib, progress{sec, 10 * mib}, progress{4 * sec, 60 * mib}, progress{4300 * ms, 68 * mib})
				start(s, 5*sec, "image shop/web:1")
			},
		},
		{
			name: "by the runtime's spans", want: "68 MiB of the image web:1 took 4.20s to arrive, 16 MiB/s", cost: 4200 * ms,
			write: func(s *casetest.Script) {
				span := pull(s, 5*sec, 68*mib, progress{4 * sec, 60 * mib})
				call := s.Call(0, 5*sec, span, "PullImage", "")
				unpack := runtimeSpan(s, call, 0, 5*sec, "pkg.unpack.unpacker.unpack")
				runtimeSpan(s, unpack, 0, 2*sec, "pkg.unpack.unpacker.fetchLayer", trace.KV{K: "layer.media.size", V: "10485760"})
				runtimeSpan(s, unpack, 0, 4200*ms, "pkg.unpack.unpacker.fetchLayer", trace.KV{K: "layer.media.size", V: "60817408"})
				start(s, 5*sec, "image shop/web:1")
			},
		},
		{
			name: "by the runtime's events", want: "68 MiB of the image web:1 took 4.20s to arrive, 16 MiB/s", cost: 4200 * ms, confidence: cause.Likely,
			write: func(s *casetest.Script) {
				span := pull(s, 5*sec, 68*mib)
				runtimeSpan(s, span, 0, 2*sec, trace.SpanLayerArrived, trace.KV{K: trace.AttrLayerSize, V: "10485760"})
				runtimeSpan(s, span, 0, 4200*ms, trace.SpanLayerArrived, trace.KV{K: trace.AttrLayerSize, V: "60817408"})
				start(s, 5*sec, "image shop/web:1")
			},
		},
		{
			name: "still", want: "10 MiB of the image web:1 arrived in 19.0s so far, 539 KiB/s", cost: 19 * sec, current: true, confidence: cause.Likely, now: 21 * sec,
			write: func(s *casetest.Script) {
				pull(s, casetest.Open, 68*mib, progress{sec, mib}, progress{20 * sec, 10 * mib})
			},
		},
		{
			name: "not: a large image, fast",
			write: func(s *casetest.Script) {
				pull(s, 5*sec, 600*mib, progress{4 * sec, 500 * mib}, progress{4300 * ms, 600 * mib})
				start(s, 5*sec, "image shop/web:1")
			},
		},
		{
			name: "not: nothing tells how far it came",
			write: func(s *casetest.Script) {
				pull(s, 5*sec, 68*mib)
				start(s, 5*sec, "image shop/web:1")
			},
		},
		{
			name: "not: other sources of progress see disks, not the network",
			write: func(s *casetest.Script) {
				span := pull(s, 5*sec, 68*mib)
				s.Point(4*sec, span, &trace.ImageProgress{Image: "shop/web:1", Done: 60 * mib, Total: 68 * mib, Source: "imagefs"})
				start(s, 5*sec, "image shop/web:1")
			},
		},
		{
			name: "not: beside a slower volume",
			write: func(s *casetest.Script) {
				pull(s, 5*sec, 68*mib, progress{4 * sec, 60 * mib}, progress{4300 * ms, 68 * mib})
				s.Action(0, 6*sec, trace.Action{ID: "volumes", Verb: trace.VerbVolumes})
				start(s, 6*sec, "image shop/web:1", "volumes")
			},
		},
		{
			name: "not: it unpacked most of the time",
			write: func(s *casetest.Script) {
				pull(s, 5*sec, 68*mib, progress{300 * ms, 60 * mib}, progress{600 * ms, 68 * mib})
				start(s, 5*sec, "image shop/web:1")
			},
		},
	})
}

func TestSlowUnpack(t *testing.T) {
	run(t, "KL03", []script{
		{
			name: "by progress", want: "unpacking 68 MiB of the image web:1 took 4.40s after they had arrived", cost: 4400 * ms, confidence: cause.Likely,
			write: func(s *casetest.Script) {
				pull(s, 5*sec, 68*mib, progress{300 * ms, 60 * mib}, progress{600 * ms, 68 * mib})
				start(s, 5*sec, "image shop/web:1")
			},
		},
		{
			name: "by the runtime's spans", want: "unpacking 68 MiB of the image web:1 took 4.50s after they had arrived", cost: 4500 * ms,
			write: func(s *casetest.Script) {
				call := s.Call(0, 5*sec, pull(s, 5*sec, 68*mib), "PullImage", "")
				runtimeSpan(s, call, 0, 500*ms, "pkg.unpack.unpacker.fetchLayer", trace.KV{K: "layer.media.size", V: "71303168"})
				start(s, 5*sec, "image shop/web:1")
			},
		},
		{
			name: "still", want: "unpacking 68 MiB of the image web:1 took 9.00s so far after they had arrived", cost: 9 * sec, current: true,
			confidence: cause.Likely, now: 10 * sec,
			write: func(s *casetest.Script) { pull(s, casetest.Open, 68*mib, progress{sec, 68 * mib}) },
		},
		{
			name: "not: nobody saw the last layer arrive",
			write: func(s *casetest.Script) {
				pull(s, 5*sec, 68*mib, progress{300 * ms, 60 * mib})
				start(s, 5*sec, "image shop/web:1")
			},
		},
		{
			name: "not: much to unpack, done fast",
			write: func(s *casetest.Script) {
				pull(s, 5*sec, 600*mib, progress{sec, 600 * mib})
				start(s, 5*sec, "image shop/web:1")
			},
		},
		{
			name: "not: the network took it all",
			write: func(s *casetest.Script) {
				pull(s, 5*sec, 68*mib, progress{4500 * ms, 60 * mib}, progress{4800 * ms, 68 * mib})
				start(s, 5*sec, "image shop/web:1")
			},
		},
	})
}
