package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"mime"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// answer is what of an answer is compared.
type answer struct {
	// Code is the HTTP status: 0 if the connection ended without an answer, -1 if there was none for long.
	Code int `json:"code"`
	// Type is the media type.
	Type string `json:"type,omitempty"`
	// Allow is that header.
	Allow string `json:"allow,omitempty"`
}

// credential is how somebody shows who they are.
type credential struct {
	token string
	cert  *tls.Certificate
}

// target is a kubelet to ask, and its pod.
type target struct {
	address     string
	credentials map[string]credential
	// words replace ${NS} and the like.
	words *strings.Replacer
}

// answerTimeout is more than anything that is requested takes.
const answerTimeout = 20 * time.Second

// askAll sends all requests, some at once.
func (t target) askAll(ctx context.Context, all []request) (map[string]answer, error) {
	answers := make([]answer, len(all))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for i, r := range all {
		group.Go(func() (err error) {
			answers[i], err = t.ask(ctx, r)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	out := make(map[string]answer, len(all))
	for i, r := range all {
		out[r.id] = answers[i]
	}
	return out, nil
}

// ask sends a request, as it is, over a connection of its own.
func (t target) ask(ctx context.Context, r request) (answer, error) {
	who := t.credentials[r.who]
	cfg := &tls.Config{InsecureSkipVerify: true}
	if who.cert != nil {
		cfg.Certificates = []tls.Certificate{*who.cert}
	}
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", t.address)
	if err != nil {
		return answer{}, err
	}
	c := tls.Client(raw, cfg)
	defer func() { _ = c.Close() }() // the answer was read
	if err := c.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return answer{}, err
	}
	auth := ""
	if who.token != "" {
		auth = "Authorization: Bearer " + who.token + "\r\n"
	}
	text := t.words.Replace(strings.Replace(r.raw, "${AUTH}", auth, 1))
	go func() { _, _ = c.Write([]byte(text)) }() // what is too long is not read to its end
	res, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: r.method})
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return answer{Code: -1}, nil
	case err != nil:
		return answer{}, nil //nolint:nilerr // that there is none is the answer
	}
	_ = res.Body.Close() // only the head is of interest
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return answer{Code: res.StatusCode, Type: kind, Allow: strings.Join(res.Header.Values("Allow"), ", ")}, nil
}
