#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `cudnn-tune report` in a real browser. Exit status 77 where there is none.

    report_browser_test.py TOOL [--keep FOLDER]     --keep: the screenshots and the printed page
"""
import json
import os
import shutil
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser  # noqa: E402
import subprocess  # noqa: E402

SAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sample.jsonl")
TOOL = None
KEEP = None


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="cudnn-tune-report-")
        cls.page = os.path.join(cls.folder.name, "report.html")
        # A path without a place to break it, longer than a phone is wide.
        sample = os.path.join(cls.folder.name, "x" * 80 + ".jsonl")
        shutil.copyfile(SAMPLE, sample)
        subprocess.run([TOOL, "report", sample, "-o", cls.page], check=True)
        cls.browser = browser.Browser(browser.find_browser())

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def setUp(self):
        self.browser.look_like(1280, 900)
        self.browser.open(self.page)

    def tearDown(self):
        self.assertEqual(self.browser.complaints(), [])

    def value(self, expression):
        return self.browser.value(expression)

    def texts(self, selector):
        return self.value(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent)")

    def tile(self, name):
        return self.value(f"[...document.querySelectorAll('#tiles dt')].find(e => e.textContent === {json.dumps(name)})"
                          ".nextSibling.textContent")

    def choose(self, selector, value):
        self.value(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(value)};"
                   "e.dispatchEvent(new Event('input', {bubbles: true})); })()")

    def is_open(self):
        return self.value("document.getElementById('detail').open")

    def keep(self, name, whole=False):
        if KEEP:
            self.browser.screenshot(os.path.join(KEEP, name + ".png"), whole)

    def test_fetches_nothing(self):
        self.assertEqual(self.browser.requests(), ["file://" + self.page])

    def test_shows_the_numbers_of_the_file(self):
        listed = json.loads(subprocess.run([TOOL, "list", "--json", SAMPLE], check=True, capture_output=True).stdout)
        self.assertEqual(self.tile("Problems"), str(len(listed)))
        compared = [entry for entry in listed if entry["ratio"]]
        self.assertEqual(self.tile("Compared with the heuristic"), str(len(compared)))
        before = sum(entry["heuristic"]["time_us"] for entry in compared)
        after = sum(entry["tuned"]["time_us"] for entry in compared)
        self.assertEqual(self.tile("Gain"), f"{before / after:.2f} ×")
        self.assertEqual(len(self.texts("#speed-chart .mark")), len(compared))
        slowest = max(listed, key=lambda entry: (entry["tuned"] or {"time_us": -1})["time_us"])
        self.assertEqual(self.texts("#problems tbody tr:first-child td:nth-child(7)"), [slowest["tuned"]["choice"]])

    def wait_for(self, condition):
        """The page may answer an event after the click has returned."""
        deadline = time.monotonic() + 10
        while not self.value(condition) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertTrue(self.value(condition), condition)

    def test_filters_by_text_and_by_lists(self):
        self.value("document.getElementById('filter-text').focus()")
        self.browser.type("bwd_data f16")
        labels = self.texts("#problems tbody td:first-child")
        self.assertTrue(labels)
        self.assertTrue(all(label.startswith("bwd_data f16") for label in labels), labels)
        self.assertEqual(self.tile("Problems"), str(len(labels)))
        self.choose("#filter-direction", "fwd")
        self.assertEqual(self.tile("Problems"), "0")
        self.assertIn("Nothing was measured here.", self.texts("#speed-chart p"))
        self.browser.click("#filters button[type=reset]")
        self.wait_for("document.getElementById('filter-count').textContent.split(' ')[0] === String(entries.length)")

    def test_groups_the_gain(self):
        self.choose("#gain-group", "direction-dtype")
        names = self.texts("#gain .name")
        self.assertIn("fwd f16", names)
        self.assertEqual(len(names), len(set(names)))
        self.browser.click("#gain li button")
        self.assertEqual(self.value("document.getElementById('gain-group').value"), "problem")
        self.assertEqual(set(" ".join(label.split()[:2]) for label in self.texts("#problems tbody td:first-child")),
                         {names[0]})

    def test_shows_the_candidates_of_a_problem_on_click(self):
        label = self.texts("#problems tbody td:first-child")[0]
        self.browser.click("#problems tbody button")
        self.assertTrue(self.is_open())
        self.assertEqual(self.texts("#detail-title"), [label])
        entry = self.value("entries.find(e => e.label === document.getElementById('detail-title').textContent)")
        shown = json.loads(subprocess.run([TOOL, "show", "--json", SAMPLE, entry["digest"]], check=True,
                                          capture_output=True).stdout)
        names = [c["choice"] + (" (heuristic)" if c["is_heuristic"] else "") for c in shown["candidates"]]
        self.assertEqual(self.texts("#candidates tbody td:nth-child(2)"), names)
        self.assertIn(shown["problem"], self.texts("#detail-facts dd"))
        self.keep("detail")
        self.browser.click("#detail-close")
        self.assertFalse(self.is_open())

    def test_opens_a_problem_from_a_point_of_a_chart(self):
        self.browser.click("#speed-chart .mark .reach")
        self.assertTrue(self.is_open())

    def test_opens_the_problem_that_the_address_names(self):
        digest = self.value("entries[3].digest")
        self.browser.open("/dev/null")
        self.browser.open(f"{self.page}#{digest}")
        self.assertTrue(self.is_open())
        self.assertTrue(any(fact.startswith(digest) for fact in self.texts("#detail-facts dd")))

    def test_can_be_used_with_the_keyboard_alone(self):
        self.value("document.querySelector('#problems tbody button').focus()")
        self.browser.press("Enter")
        self.assertTrue(self.is_open())
        self.assertTrue(self.value("document.getElementById('detail').contains(document.activeElement)"))
        self.browser.press("Escape")
        self.assertFalse(self.is_open())
        self.value("document.querySelector('#speed-chart svg').focus()")
        self.browser.press("ArrowRight")
        self.browser.press("ArrowRight")
        self.assertIn(self.value("document.getElementById('said').textContent"), self.texts("#speed-chart .mark title"))
        self.browser.press("Enter")
        self.assertTrue(self.is_open())

    def test_every_control_can_be_reached_and_has_a_name(self):
        nameless = self.value("""[...document.querySelectorAll('button, input, select, [tabindex]')].filter(e =>
            !(e.textContent.trim() || e.ariaLabel || e.labels?.length)).map(e => e.outerHTML)""")
        self.assertEqual(nameless, [])
        self.assertEqual(self.value("document.querySelectorAll('[tabindex]:not([tabindex=\"0\"])').length"), 0)

    def test_sorts_by_any_column(self):
        for column in range(8):
            self.browser.click(f"#problems th:nth-child({column + 1}) button")
            sort = self.value(f"document.querySelector('#problems th:nth-child({column + 1})').ariaSort")
            self.assertIn(sort, ("ascending", "descending"))
        self.browser.click("#problems th:nth-child(4) button")
        ratios = [float(text) for text in self.texts("#problems tbody td:nth-child(4)") if text != "–"]
        self.assertEqual(ratios, sorted(ratios, reverse=True))

    def test_takes_hostile_text_for_text(self):
        hostile = self.value("entries.filter(e => (e.environment + e.by + e.problem).includes('<')).length")
        self.assertGreater(hostile, 0)
        self.assertEqual(self.value("document.querySelectorAll('img, script:not([nonce], #data)').length"), 0)
        self.choose("#filter-text", "<img")
        self.assertEqual(len(self.texts("#problems tbody tr")), hostile)
        self.browser.click("#problems tbody button")
        self.assertEqual(self.value("document.querySelectorAll('img').length"), 0)
        self.assertIsNone(self.value("window.attacked ?? null"))
        self.assertTrue(any("</script><img" in fact for fact in self.texts("#detail-facts dd")))

    def test_runs_no_script_but_its_own(self):
        self.value("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.attacked = 1\">')")
        self.value("new Promise(resolve => setTimeout(resolve, 200))")
        self.assertIsNone(self.value("window.attacked ?? null"))
        self.assertTrue(self.browser.complaints())
        self.browser.events = []

    def test_fits_phones_and_both_schemes(self):
        grounds = set()
        for scheme in ("light", "dark"):
            for name, width, height, is_phone in (("wide", 1280, 900, False), ("phone", 360, 740, True)):
                self.browser.look_like(width, height, scheme, is_phone=is_phone)
                self.browser.open(self.page)
                self.assertLessEqual(self.value("document.documentElement.scrollWidth"), width, name)
                grounds.add(self.value("getComputedStyle(document.body).backgroundColor"))
                self.keep(f"{name}-{scheme}", whole=True)
                self.browser.click("#problems tbody button")
                self.assertLessEqual(self.value("document.getElementById('detail').getBoundingClientRect().right"), width)
                self.keep(f"{name}-{scheme}-detail")
        self.assertEqual(len(grounds), 2)

    def test_text_stands_out_from_its_ground(self):
        # WCAG 2: 4.5 for text.
        for scheme in ("light", "dark"):
            self.browser.look_like(1280, 900, scheme)
            ratios = self.value("""(() => {
                const style = getComputedStyle(document.documentElement);
                const light = (name) => {
                    const hex = style.getPropertyValue(name).trim().slice(1);
                    const [r, g, b] = [0, 2, 4].map(i => parseInt(hex.slice(i, i + 2), 16) / 255)
                        .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
                    return .2126 * r + .7152 * g + .0722 * b;
                };
                const ratio = (a, b) => (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
                return ['--text', '--muted', '--focus'].flatMap(name =>
                    ['--ground', '--panel'].map(ground => ratio(light(name), light(ground))));
            })()""")
            self.assertGreaterEqual(min(ratios), 4.5, scheme)

    def test_prints_every_problem_without_controls(self):
        self.browser.look_like(800, 1100, media="print")
        self.assertEqual(self.value("getComputedStyle(document.getElementById('filters')).display"), "none")
        path = os.path.join(KEEP or self.folder.name, "printed.pdf")
        self.browser.pdf(path)
        self.assertGreater(os.path.getsize(path), 10_000)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if "--keep" in arguments:
        at = arguments.index("--keep")
        KEEP = arguments[at + 1]
        os.makedirs(KEEP, exist_ok=True)
        del arguments[at:at + 2]
    TOOL = os.path.abspath(arguments.pop(0))
    if browser.find_browser() is None:
        print("skipped: there is no Chromium (package chromium) to show the page in; CHROMIUM can name one")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0]] + arguments)
