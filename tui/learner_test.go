package tui

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kubeloupe/kubeloupe/tui/learn"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// TestLearner: every view, and every page that it opens, explains what is selected, with a text that explain has, and at 80x24 as well.
func TestLearner(t *testing.T) { synctest.Test(t, testLearner) }

func testLearner(t *testing.T) {
	topics := map[learn.Lesson]bool{}
	for _, topic := range learn.Topics() {
		topics[topic.Lesson] = true
	}
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		d := drive(t, Config{}, size[0], size[1]).play()
		d.keys("L")
		for i := range d.app.tabs {
			d.app.show(i)
			page := d.app.top()
			if _, ok := page.(views.Teacher); !ok {
				t.Errorf("%s explains nothing", page.Name())
			}
			for _, keys := range []string{"g", "j", "j", "G", "enter"} {
				d.keys(keys)
				l := d.app.lesson()
				if !topics[l] {
					t.Errorf("%s after %s: no topic has the lesson %q", page.Name(), keys, l.Title)
				}
				d.want("─ learn: " + l.Title)
				if last := l.Text[strings.LastIndexByte(l.Text, ' ')+1:]; true {
					d.want(last) // the whole text has room
				}
			}
		}
		d.app.show(0)
		d.keys("esc").wantNot("─ learn")
	}
	d := drive(t, Config{}, 80, 17).play()
	d.keys("L").want("too few lines")
	d.wantNot("─ learn")
}

// TestLessonsFit: the panel has room for each lesson.
func TestLessonsFit(t *testing.T) { synctest.Test(t, testLessonsFit) }

func testLessonsFit(t *testing.T) {
	for _, size := range [][2]int{{60, 24}, {80, 24}, {99, 40}, {120, 40}, {200, 50}} {
		d := drive(t, Config{}, size[0], size[1]).play().keys("L")
		n := d.app.lessonHeight()
		for _, topic := range learn.Topics() {
			lines := d.app.drawLesson(topic.Lesson, n)
			text := strings.Join(lines, "\n")
			words := strings.Fields(topic.Text)
			if len(lines) > n || !strings.Contains(text, words[len(words)-1]) {
				t.Errorf("%dx%d: %s takes %d lines of %d:\n%s", size[0], size[1], topic.Name, len(lines), n, text)
			}
		}
	}
}
