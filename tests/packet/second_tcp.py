"""Flows of the second engine (see `second_engine`): their paths, receivers and senders."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tests.packet.second_network import (
    ACK,
    APPLICATION,
    ARRIVAL,
    DELAYED_ACK,
    EDGE,
    REACHED,
    RECEIVED,
    Echo,
    Packet,
    Rng,
    ps,
)
from tests.packet.second_scoreboard import Scoreboard
from vegasfluid.congestion.loss_recovery import RESEND, RETRANSMIT, SACK, SEND, SEND_ONE
from vegasfluid.traffic.base import NEW_CONNECTION

if TYPE_CHECKING:
    from tests.packet.second_engine import Simulator

CONNECTION = ["cwnd", "ssthresh", "srtt", "rttvar", "rto", "backoff", "duplicates"]
CONNECTION += ["inflation", "in_recovery"]
"""What a sender knows of a connection, and forgets with it, beside what its law keeps."""


class Flow:
    """A TCP flow: its path, its sender and its receiver."""

    def __init__(self, sim: Simulator, name: str, number: int, record: Any) -> None:
        self.sim, self.name, self.number = sim, name, number
        self.spec, self.rng = sim.network.flows[name], Rng(record)
        self.host, self.ratio = self.spec.settings, sim.network.ack_size(name)
        self.set_path(int(record["start"]), number - sim.first[name])
        self.state = self.fresh(int(record["start"]))
        self.began = dict(vars(self.state))
        self.deadline: int | None = None
        self.alarms: set[tuple[int, int]] = set()
        self.timed: tuple[int, int] | None = None
        self.sent_at: dict[int, int] = {}
        self.times_sent: Counter[int] = Counter()
        self.board = Scoreboard()
        self.answered = 0
        self.sent = self.resent = self.dropped = self.delivered = 0
        self.expected, self.early, self.latest_early = 0, set[int](), -1
        self.ack_deadline: int | None = None
        self.quick_acks = self.host.quick_acks
        self.echo = Echo(self.spec.law.rules.exact_echo)
        self.log: list[tuple[float, ...]] = []
        self.losses: list[tuple[float, ...]] = [(0, 0)]
        self.arrivals: list[tuple[float, ...]] = [(0, 0)]
        self.note(0)

    def fresh(self, start: int) -> SimpleNamespace:
        """What the rules read and write."""
        spec = self.spec
        zeros = "una next_seq max_seq offered duplicates inflation recover in_recovery srtt rttvar"
        fields = dict.fromkeys(
            [*zeros.split(), "timeouts", "opened", "finished", "sacked", "lost_below"], 0
        )
        for kind in (spec.law.rules.state, spec.law.packet_parameters(), spec.traffic.rules.state):
            fields |= kind
        fields |= spec.traffic.packet_parameters(self.sim.network.packet_bytes)
        fields |= {"start": start, "app_at": start, "backoff": 1, "window_limited": 1}
        fields |= {"rto": ps(self.host.initial_rto), "min_rto": ps(self.host.min_rto)}
        fields |= {"cwnd": 1.0, "ssthresh": float(self.host.initial_ssthresh)}
        fields |= {"acked_at": 0, "resent_at": 0, "least_rtt": 2**63 - 1}
        fields["recovery"] = spec.law.rules.recovery_number
        return SimpleNamespace(**fields, max_window=float(int(spec.max_window)), rng=self.rng)

    def set_path(self, start: int, index: int) -> None:
        """The queues on the way there and back, and the access links."""
        sim, spec, links = self.sim, self.spec, self.sim.network.links_of(self.name)
        names = list(spec.path or sim.network.links)
        forward = [sim.queues[name, False] for name in names]
        back = [sim.queues[name, True] for name in reversed(names)]
        if spec.direction == "reverse":
            forward, back = back, forward
        self.queues = forward + (back if sim.two_way else [])
        self.data_hops, self.latest = len(forward), [0] * len(self.queues)
        own = 2 * sum(link.delay for link in links)
        self.hop = max(spec.propagation(links)[index] - own, 0.0) / 4
        rate = 0.0 if spec.access is None else 1 / spec.access
        self.access_service, self.access_ack = ps(rate), ps(self.ratio * rate)
        self.access_free = self.exit_free = self.ready_at = 0
        self.return_delay = 2 * (ps(self.hop) + self.access_ack)
        self.return_delay += sum(ps(link.delay) + ps(self.ratio / link.capacity) for link in links)
        sim.schedule(start, APPLICATION, self.number)

    # The path.

    def hop_at(self, now: int) -> int:
        """Propagation of an access link for what leaves now."""
        hop, is_given = self.hop, self.spec.base_rtt is None
        delays = {name: link.delay for name, link in self.sim.network.links.items()}
        for event in self.sim.network.events:
            if event.link != "access":
                delays[event.link] = event.delay
            elif event.flows in (None, self.name) and ps(event.at) <= now:
                own = 2 * sum(delays[name] for name in self.spec.path or delays)
                hop = event.delay if is_given else max(event.delay - own, 0.0) / 4
        return ps(hop)

    def go_on(self, packet: Packet, stage: int, time: int) -> None:
        """A packet comes out of a link: on to the next one, or to the access link."""
        kind = EDGE if stage in (self.data_hops, len(self.queues)) else ARRIVAL
        self.sim.schedule(time, kind, self.number, stage, packet)

    def cross_access(self, packet: Packet, stage: int, now: int) -> None:
        if stage == self.data_hops:
            self.sim.schedule(now + self.hop_at(now), REACHED, self.number, 0, packet)
        else:
            time = now + self.hop_at(now) + self.access_ack
            self.sim.schedule(time, ACK, self.number, 0, packet)

    def leave_access(self, packet: Packet, now: int) -> None:
        self.exit_free = max(now, self.exit_free) + self.access_service
        self.sim.schedule(self.exit_free, RECEIVED, self.number, 0, packet)

    def lose(self, now: int) -> None:
        self.dropped += 1
        self.losses.append((now, self.dropped))

    # The receiver.

    def receive(self, packet: Packet, now: int) -> None:
        """RFC 5681, section 4.2: when to send ACKs."""
        if (turns := self.echo.turns(packet)) and self.ack_deadline is not None:
            self.send_ack(now)
        self.echo.take(packet)
        had_gap, seq = bool(self.early), packet.seq
        in_order = seq == self.expected
        if not self.spec.law.rules.reliable or (seq >= self.expected and seq not in self.early):
            self.delivered += 1
            self.arrivals.append((now, self.delivered))
        if not self.spec.law.rules.reliable:
            return
        if seq > self.expected and seq not in self.early:
            self.early.add(seq)
            self.latest_early = seq
        self.expected += in_order
        while self.expected in self.early:
            self.early.remove(self.expected)
            self.expected += 1
        prompt = had_gap or not in_order or turns
        if not prompt and self.quick_acks:
            self.quick_acks -= 1
            prompt = True
        if not prompt and self.ack_deadline is None and self.host.delayed_ack:
            self.ack_deadline = now + ps(self.host.delayed_ack)
            self.sim.schedule(self.ack_deadline, DELAYED_ACK, self.number)
        else:
            self.send_ack(now)

    def block(self) -> range:
        """The block of the packet that came out of order last (RFC 2018, section 4)."""
        low = high = self.latest_early
        while low - 1 in self.early:
            low -= 1
        while high in self.early:
            high += 1
        return range(low, high) if self.latest_early in self.early else range(0)

    def send_ack(self, now: int) -> None:
        self.ack_deadline, sim = None, self.sim
        ack = Packet(self.expected, self.ratio, 0, self.echo.on, self.block())
        if sim.two_way:
            time = now + self.access_ack + self.hop_at(now)
            sim.schedule(time, ARRIVAL, self.number, self.data_hops, ack)
        else:
            sim.schedule(now + self.return_delay, ACK, self.number, 0, ack)

    # The sender.

    def note(self, now: int) -> None:
        state = self.state
        entry = (state.timeouts, state.cwnd, state.ssthresh, state.srtt)
        self.log.append((now, self.sent, self.resent, *entry))

    def send(self, seq: int, now: int) -> None:
        state = self.state
        if self.ready_at <= now and (largest := self.sim.network.send_overhead(self.name)):
            self.ready_at = now + int(self.rng.uniform() * ps(largest))
        begin = max(ready := max(now, self.ready_at), self.access_free)
        self.access_free = begin + self.access_service
        packet = Packet(seq, answers=self.answered if seq >= self.answered else 0)
        arrival = self.access_free + self.hop_at(begin)
        self.sim.schedule(arrival, ARRIVAL, self.number, 0, packet)
        self.sent += 1
        self.sent_at[seq] = ready
        self.times_sent[seq] += 1
        if seq < state.max_seq:
            self.resent += 1
        else:
            state.max_seq = seq + 1
            self.timed = self.timed or (seq, ready)
        if self.deadline is None and self.spec.law.rules.reliable:
            self.set_timer(now)

    def send_next(self, now: int) -> None:
        self.send(self.state.next_seq, now)
        self.state.next_seq += 1

    def set_timer(self, now: int) -> None:
        self.deadline = now + self.state.rto * self.state.backoff

    def fill(self, now: int) -> None:
        """Send what the window and the application allow."""
        state = self.state
        window = int(min(state.cwnd, state.max_window))
        if not self.spec.law.rules.reliable:
            while state.next_seq < state.offered:
                self.send_next(now)
            state.una = state.next_seq
        elif state.recovery == SACK:
            self.fill_network(window, now)
        else:
            end = state.una + min(window + state.inflation, state.max_window)
            state.window_limited = int(end <= state.offered)
            while state.next_seq < min(end, state.offered):
                self.send_next(now)

    def fill_network(self, window: int, now: int) -> None:
        """Send while the network has room, lost packets first (RFC 6675, section 5)."""
        state, limited = self.state, 1
        while self.board.pipe(state.una, state.next_seq) < window:
            if self.board.holes():
                self.resend(now)
            elif state.next_seq < min(state.offered, state.una + state.max_window):
                self.send_next(now)
            else:
                limited = int(state.next_seq < state.offered)
                break
        state.window_limited = limited

    def resend(self, now: int, timed: tuple[int, int] | None = None) -> None:
        """The first packet that is lost; the oldest where that is not known."""
        seq, self.timed = self.state.una, timed
        if self.state.recovery == SACK:
            seq = min(self.board.holes(), default=seq)
            self.board.resent.add(seq)
        self.send(seq, now)

    def apply(self, action: int, now: int) -> None:
        state = self.state
        if action & (RETRANSMIT | RESEND):
            if action & RETRANSMIT:
                self.set_timer(now)
            state.resent_at = now
            later = action & RESEND and self.timed and self.timed[0] > state.una
            self.resend(now, self.timed if later else None)
        if action & SEND:
            self.fill(now)
        if action & SEND_ONE:
            window = int(min(state.cwnd + state.duplicates, state.max_window))
            if state.next_seq < min(state.una + window, state.offered):
                self.send_next(now)

    def take_ack(self, ack: Packet, now: int) -> None:
        state, rules = self.state, self.spec.law.rules
        if ack.seq < state.una or ack.seq <= state.opened:
            return  # overtaken by a later one; or of an older connection, or before the handshake
        if state.recovery == SACK:
            self.board.report(ack.block, state.una, self.times_sent)
            state.lost_below = state.una + (state.una in self.board.lost)
        if ack.seq > state.una:
            self.take_new_ack(ack, now)
            return
        if state.una < state.max_seq:
            self.show_board()
            self.apply(rules.on_duplicate_ack(state, now), now)
        self.answer(ack, now)

    def answer(self, ack: Packet, now: int) -> None:
        """RFC 3168, section 6.1.2: at most once in a round trip."""
        if ack.marked and self.state.una > self.answered:
            self.spec.law.rules.on_ecn_echo(self.state, now)
            self.answered = self.state.max_seq

    def show_board(self) -> None:
        """What the rules may know of the packets in flight."""
        state = self.state
        state.sacked = len(self.board.sacked)
        state.oldest_sent_at = self.sent_at.get(state.una, 0)
        state.oldest_transmissions = self.times_sent[state.una]

    def take_new_ack(self, ack: Packet, now: int) -> None:
        state, first, acked_to, before = self.state, self.state.una, ack.seq, self.state.cwnd
        if first != state.opened:
            self.spec.law.rules.count_marks(state, acked_to - first, int(ack.marked))
        state.una, state.next_seq = acked_to, max(state.next_seq, acked_to)
        if self.timed and self.timed[0] < acked_to:
            self.sample(now - self.timed[1])
            self.timed = None
        if (
            state.in_recovery < 2 or acked_to >= state.recover
        ):  # RFC 6582: the first partial ACK only
            self.set_timer(now)
        if acked_to == state.max_seq:
            self.deadline = None
        state.acked_sent_at = self.sent_at[acked_to - 1]
        state.acked_transmissions = self.times_sent[acked_to - 1]
        state.acked_at = now
        if state.acked_transmissions == 1:
            state.least_rtt = min(state.least_rtt, now - state.acked_sent_at)
        arrived = set(range(first, acked_to)) - self.board.sacked
        self.board.acknowledge(range(first, acked_to), self.times_sent)
        self.show_board()
        action = self.spec.law.rules.on_ack(state, now, len(arrived))
        if ack.marked:  # RFC 3168, section 6.1.2
            state.cwnd = min(state.cwnd, before)
        if first == state.opened:  # the first packet stands for the handshake
            state.cwnd = float(self.host.initial_window)
        self.answer(ack, now)
        self.apply(action, now)
        if state.una == state.offered:
            self.spec.traffic.rules.on_finished(state, now)

    def sample(self, rtt: int) -> None:
        """RFC 6298, section 2, in whole picoseconds."""
        state = self.state
        if not state.srtt or state.backoff >= 16:
            state.srtt, state.rttvar = rtt, rtt // 2
        else:
            state.rttvar += (abs(rtt - state.srtt) - state.rttvar) // 4
            state.srtt += (rtt - state.srtt) // 8
        state.rto, state.backoff = max(state.srtt + 4 * state.rttvar, state.min_rto), 1

    def time_out(self, now: int) -> None:
        """RFC 6298, section 5; all that has not arrived is sent again."""
        state = self.state
        if self.deadline != now:
            return  # it was set anew
        state.timeouts += 1
        self.spec.law.rules.on_timeout(state, now)
        self.timed = None
        if state.recovery == SACK:
            self.board.lost = set(range(state.una, state.next_seq)) - self.board.sacked
            self.board.resent = set()
        else:
            state.next_seq = state.una
        state.backoff = min(64, 2 * state.backoff)
        self.set_timer(now)
        self.fill(now)

    def offer(self, now: int) -> None:
        """The application hands over packets."""
        state = self.state
        if state.app_at != now:
            return  # it thought otherwise
        if self.spec.traffic.rules.on_application(state, now) == NEW_CONNECTION:
            self.connect()
        self.fill(now)

    def connect(self) -> None:
        """A new connection: its numbers go on, but nothing is known but the law's parameters."""
        state, rules = self.state, self.spec.law.rules
        state.opened, self.timed = state.una, None
        self.board.reordering, self.quick_acks = 3, self.host.quick_acks
        for name in {*CONNECTION, *rules.state} - {*rules.counters}:
            setattr(state, name, self.began[name])
        for name in (*rules.places, "recover"):
            setattr(state, name, state.una + self.began[name])
