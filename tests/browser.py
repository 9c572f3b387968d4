"""A report page that is open in a real browser, Chromium without a window."""

import json
import shutil

import numpy as np

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
DRIVER = shutil.which("chromedriver")
PATIENCE = 120  # seconds until a condition that should come true is an error
SWITCHES = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--window-size=1280,900",
]  # fmt: skip


def start_chromium(profile):
    """A browser, or None where there is none."""
    if CHROMIUM is None or DRIVER is None:
        return None
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for switch in (*SWITCHES, f"--user-data-dir={profile}"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_script_timeout(PATIENCE)
    return driver


class Opened:
    """A page that is open in the browser."""

    def __init__(self, driver, path, width=1280, height=900):
        self.driver, self.path = driver, path
        driver.get("about:blank")
        for log in ("browser", "performance"):
            driver.get_log(log)  # what earlier pages left there
        self.resize(width, height)
        driver.get(path.as_uri())
        self.until("document.body.dataset.ready === 'true'")
        self.settle()

    def run(self, script, *arguments):
        return self.driver.execute_script(f"return {script}", *arguments)

    def until(self, condition):
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, PATIENCE).until(lambda _: self.run(condition))

    def settle(self):
        # in the first frame a page hears of another size or scheme, in the second it draws anew
        self.driver.execute_async_script(
            "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"
        )
        self.until("window.fedhull.viewer?.settled ?? true")

    def resize(self, width, height, dark=False):
        command = self.driver.execute_cdp_cmd
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        command("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "no-preference"}
        command("Emulation.setEmulatedMedia", {"features": [scheme, still]})

    @property
    def centre(self):
        return np.array(self.run("fedhull.viewer.view.centre"))

    @property
    def canvas(self):
        return self.driver.find_element("css selector", ".stage canvas")

    def place(self, x, y):
        """The place in the unit disc of a pixel, counted from the canvas' corner."""
        view = self.run("fedhull.viewer.view")
        return np.array([(x - view["x"]) / view["scale"], (view["y"] - y) / view["scale"]])

    def actions(self):
        from selenium.webdriver import ActionChains

        self.run("document.querySelector('.stage').scrollIntoView({block: 'center'})")
        return ActionChains(self.driver, duration=0)

    def at(self, x, y):
        """What Selenium wants: an offset from the canvas' middle."""
        half = self.run("fedhull.viewer.canvas.clientWidth") / 2
        return self.canvas, round(x - half), round(y - half)

    def drag(self, start, end):
        moves = self.actions().move_to_element_with_offset(*self.at(*start)).click_and_hold()
        for share in (0.3, 0.6, 1.0):
            way = np.array(start) + share * (np.array(end) - start)
            moves = moves.move_to_element_with_offset(*self.at(*np.round(way)))
        moves.release().perform()
        self.settle()

    def pixels(self, colour):
        """How many of the canvas' pixels have nearly this colour."""
        wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
        return self.run(
            """((canvas, wanted) => {
                const context = canvas.getContext("2d");
                const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
                const off = (i) => wanted.reduce((d, c, j) => d + Math.abs(data[i + j] - c), 0);
                let n = 0;
                for (let i = 0; i < data.length; i += 4) n += off(i) < 30;
                return n;
            })(fedhull.viewer.canvas, arguments[0])""",
            wanted,
        )

    def click(self, selector):
        node = self.driver.find_element("css selector", selector)
        self.run("arguments[0].scrollIntoView({block: 'center'})", node)
        node.click()

    def complaints(self):
        # "rendering" is advice on speed, about the pixels that `pixels` reads
        log = self.driver.get_log("browser")
        return [entry["message"] for entry in log if entry["source"] != "rendering"]

    def requests(self):
        events = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]
