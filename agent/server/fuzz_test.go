package server

import (
	"net/url"
	"strconv"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/logs"
)

// FuzzLogOptions decodes the query of a request for a log.
func FuzzLogOptions(f *testing.F) {
	for _, s := range []string{
		"", "follow=true&tailLines=10&timestamps=1", "tail=all&tailLines=3", "tail=5&tailLines=3", "follow&previous=False&limitBytes=1", "sinceSeconds=9223372036854775807",
		"sinceTime=2026-01-01T00:00:00Z", "sinceTime=9999-12-31T23:59:59%2B00:00&sinceSeconds=1", "stream=Stdout", "stream=All&tailLines=1", "stream=x", "limitBytes=-1", "tailLines=-1",
		"tailLines=1&tailLines=2", "tailLines=99999999999999999999", "a;b", "%zz",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		q, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		o, err := logOptions(q)
		if err != nil || !validLogOptions(o) {
			return
		}
		if o.TailLines != nil && *o.TailLines < 0 || o.LimitBytes != nil && *o.LimitBytes < 1 || o.SinceSeconds != nil && (*o.SinceSeconds < 1 || o.SinceTime != nil) {
			t.Fatalf("%+v", o)
		}
		now := time.Unix(1_800_000_000, 0)
		if since := logs.OptionsOf(o, now).Since; o.SinceSeconds != nil && since.After(now) {
			t.Fatalf("%d seconds before %s is %s", *o.SinceSeconds, now, since)
		}
		again, err := logOptions(queryOf(o))
		if err != nil || !validLogOptions(again) || logs.OptionsOf(again, now) != logs.OptionsOf(o, now) && !sameOptions(again, o) {
			t.Fatalf("%+v became %+v, %v", o, again, err)
		}
	})
}

// queryOf encodes options as a query.
func queryOf(o *v1.PodLogOptions) url.Values {
	q := url.Values{}
	for name, v := range map[string]bool{"follow": o.Follow, "previous": o.Previous, "timestamps": o.Timestamps} {
		q.Set(name, strconv.FormatBool(v))
	}
	for name, v := range map[string]*int64{"tailLines": o.TailLines, "limitBytes": o.LimitBytes, "sinceSeconds": o.SinceSeconds} {
		if v != nil {
			q.Set(name, strconv.FormatInt(*v, 10))
		}
	}
	if o.SinceTime != nil {
		q.Set("sinceTime", o.SinceTime.Format(time.RFC3339Nano))
	}
	if o.Stream != nil {
		q.Set("stream", *o.Stream)
	}
	return q
}

func sameOptions(a, b *v1.PodLogOptions) bool { return queryOf(a).Encode() == queryOf(b).Encode() }
