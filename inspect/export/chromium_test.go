package export_test

import (
	"bytes"
	"context"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/export"
)

// chromium opens a file without a window and returns what it prints. A message on the console fails the test.
func chromium(t *testing.T, file string, args ...string) string {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium on PATH (Debian: apt-get install chromium): pages and pictures are not opened")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	args = append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir=" + t.TempDir(), "--enable-logging=stderr", "--v=0",
	}, args...)
	cmd := exec.CommandContext(ctx, program, append(args, "file://"+file)...)
	home := t.TempDir() // its crash reporter goes there whatever the profile
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it has children
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("chromium: %v\n%s", err, log.String())
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "CONSOLE") {
			t.Errorf("on the console: %s", line)
		}
	}
	return out.String()
}

func TestHTMLInChromium(t *testing.T) {
	for _, s := range []sample{{"slow-pull", slowPull()}, {"evil", evil()}} {
		t.Run(s.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := export.HTML(&b, fall(t, s.recs), findings()); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "start.html")
			if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			dom := chromium(t, file, "--dump-dom")
			rows := strings.Count(b.String(), `<g class="kl-row`)
			if n := strings.Count(dom, `tabindex="0"`); n != rows || rows == 0 {
				t.Errorf("the script has made %d of %d rows ready", n, rows)
			}
			if n := strings.Count(dom, "<script"); n != 1 {
				t.Errorf("%d scripts, want its own", n)
			}
			if found := regexp.MustCompile(`(?i)<img|<b>|\son\w+=`).FindString(regexp.MustCompile(`="[^"]*"|>[^<]*<`).ReplaceAllString(dom, "><")); found != "" {
				t.Errorf("text became markup: %q", found)
			}
		})
	}
}

// TestSVGInChromium renders a picture and looks for its colors.
func TestSVGInChromium(t *testing.T) {
	dir := t.TempDir()
	file, shot := filepath.Join(dir, "start.svg"), filepath.Join(dir, "start.png")
	var b bytes.Buffer
	if err := export.SVG(&b, fall(t, slowPull())); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	chromium(t, file, "--screenshot="+shot, "--window-size=1060,420", "--force-device-scale-factor=1")
	f, err := os.Open(shot)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	count := map[color.RGBA]int{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			c, _ := color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
			count[c]++
		}
	}
	image, create := color.RGBA{0x87, 0x00, 0xd7, 0xff}, color.RGBA{0x00, 0x87, 0x00, 0xff} // trace/hue
	if count[image] < 500*10 || count[create] < 50 {
		t.Errorf("%d pixels of the image's color, %d of create and start", count[image], count[create])
	}
}
