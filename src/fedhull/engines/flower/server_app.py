"""The ServerApp of a study; `kit`, `timeout` and `wait` come from the run's configuration."""

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from fedhull.engines.flower.engine import FlowerEngine, find_sites
from fedhull.engines.following import PROGRESS, note_steps
from fedhull.errors import FedhullError
from fedhull.kits.kit import Kit
from fedhull.kits.participant import coordinate
from fedhull.kits.results import write_status
from fedhull.progress import Progress

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Wait for the sites, run the study, leave what comes of it in the coordinator's kit."""
    kit = Kit.open(str(context.run_config["kit"]))
    run = f"flower-{context.run_id}"
    results = kit.results(run)
    report = note_steps(results / PROGRESS)

    def found(names: list[str]) -> None:
        report(Progress("connect", len(names), len(kit.study.clients)))

    try:
        nodes = find_sites(grid, kit.study, float(context.run_config["wait"]), found)
        engine = FlowerEngine(grid, nodes)
        coordinate(kit, run, engine, float(context.run_config["timeout"]), report)
    except FedhullError as problem:
        # said in the kit; Flower need not show a traceback for it
        write_status(results, type(problem).__name__, f"{problem}")
