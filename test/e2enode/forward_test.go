package main

import (
	"bufio"
	"context"
	"net"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// Connections are passed on both ways, and end on both sides; one that cannot be passed on is closed.
func TestForward(t *testing.T) {
	dir := t.TempDir()
	listen := func(name string) (net.Listener, func() (net.Conn, error)) {
		path := filepath.Join(dir, name)
		l, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l, func() (net.Conn, error) { return new(net.Dialer).DialContext(t.Context(), "unix", path) }
	}
	server, toServer := listen("server")
	front, toFront := listen("front")
	go forward(front, toServer)
	echoed := make(chan string, 1)
	go func() {
		c, err := server.Accept()
		if err != nil {
			return
		}
		line, _ := bufio.NewReader(c).ReadString('\n')
		echoed <- line
		_, _ = c.Write([]byte("answer\n"))
		_ = c.Close()
	}()
	c, err := toFront()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("question\n")); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	line, err := r.ReadString('\n')
	if got := <-echoed; got != "question\n" || line != "answer\n" || err != nil {
		t.Errorf("the server got %q, the client %q, %v", got, line, err)
	}
	if _, err := r.ReadByte(); err == nil {
		t.Error("the client's side stays open")
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if c, err = toFront(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a connection to nobody stays open")
	}
}

func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		n := 0
		again(ctx, time.Second, func() { n++ })
		if n != 4 {
			t.Errorf("called %d times in 3.5 s, want 4", n)
		}
	})
}
