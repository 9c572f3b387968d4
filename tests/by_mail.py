"""Studies by files on this machine: kits, data and mail, every call with a freshly opened kit."""

import json

from conformance import agree, learned
from federations import draft, make_data

from fedhull.engines.base import Options
from fedhull.engines.files.mail import Mail
from fedhull.engines.files.runner import RUNNER as FILES
from fedhull.errors import StillWaiting
from fedhull.kits.kit import Kit
from fedhull.kits.provision import make_kits

FOUR = ["lab-a", "lab-b", "lab-c", "lab-d"]


class MailStudy:
    """A study of these sites, everybody's consent given; `said` is all that people were told."""

    product = "model.json"

    def __init__(self, folder, names=FOUR, extra=""):
        self.names = names
        self.kits, self.mail = folder / "kits", folder / "mail"
        task, self.data = self.prepare(folder, extra)
        self.post = Mail.of(self.mail, task)
        self.n_steps = sum(map(len, self.post.steps))
        self.said = []

    def prepare(self, folder, extra):
        """Make kits and data, and give everybody's consent; the task, and {site: data file}."""
        task = make_kits(draft(self.names, extra), self.kits).task
        self.data = make_data(folder, self.names)
        for name in self.names:
            self.agree(name)
        return task, self.data

    def agree(self, name, again=False):
        agree(self.kits, name, self.data, again)

    def serve(self, go_on=False, again=False):
        """True when the study is complete."""
        try:
            options = Options(mail=self.mail, go_on=go_on, again=again)
            FILES.serve(Kit.open(self.kits / "server"), options, self.said.append)
        except StillWaiting as waiting:
            self.waiting = str(waiting)
            return False
        return True

    def answer(self, name):
        """True when the site has its model."""
        try:
            FILES.join(Kit.open(self.kits / name), Options(mail=self.mail), self.said.append)
        except StillWaiting:
            return False
        return (self.results(name) / self.product).exists()

    def results(self, name):
        return self.kits / name / "results" / "files"

    def status(self, name):
        return json.loads((self.results(name) / "status.json").read_text())

    def result(self, name):
        return json.loads((self.results(name) / "result.json").read_text())

    def reply(self, name, step, number=1):
        return self.post.path(name, step, "reply", number)

    def request(self, name, step, number=1):
        return self.post.path(name, step, "request", number)

    def until(self, step, names=None, number=1):
        """Go on until the requests of this step of sum `number` are there."""
        self.serve()
        for _ in range(self.n_steps):
            if self.request((names or self.names)[0], step, number).exists():
                return
            for name in names or self.names:
                self.answer(name)
            self.serve()
        raise AssertionError("the study did not come so far")

    def finish(self, names=None):
        for _ in range(self.n_steps + 1):
            for name in names or self.names:
                self.answer(name)
            if self.serve():
                for name in names or self.names:
                    self.answer(name)
                return
        raise AssertionError("the study did not end")

    def model(self):
        return learned(self.results("server") / "model.json")
