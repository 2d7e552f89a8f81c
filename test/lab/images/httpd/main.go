// Command httpd is the program of the laboratory's HTTP image: a server that
// is ready at once and ends at once.
//
// It listens on $PORT (8080) and answers
//
//	/                 200, the host name
//	/healthz          200, "ok"
//	/sleep?ms=N       200 after N milliseconds
//	/status?code=N    status N
//
// SIGTERM and SIGINT end it without waiting for open requests.
package main

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)

	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		host, _ := os.Hostname()
		_, _ = fmt.Fprintln(w, host)
	})
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/sleep", func(w http.ResponseWriter, r *http.Request) {
		ms, err := strconv.Atoi(r.FormValue("ms"))
		if err != nil || ms < 0 {
			http.Error(w, "ms: want a number of milliseconds", http.StatusBadRequest)
			return
		}
		select {
		case <-time.After(time.Duration(ms) * time.Millisecond):
		case <-r.Context().Done():
		}
		_, _ = fmt.Fprintln(w, "slept")
	})
	mux.HandleFunc("/status", func(w http.ResponseWriter, r *http.Request) {
		code, err := strconv.Atoi(r.FormValue("code"))
		if err != nil || code < 200 || code > 599 {
			http.Error(w, "code: want 200 to 599", http.StatusBadRequest)
			return
		}
		w.WriteHeader(code)
	})

	l, err := net.Listen("tcp", ":"+cmp.Or(os.Getenv("PORT"), "8080"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("listening on", l.Addr())
	failed := make(chan error, 1)
	go func() { failed <- http.Serve(l, mux) }()
	select {
	case sig := <-stop:
		fmt.Println("ending on", sig)
	case err := <-failed:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
