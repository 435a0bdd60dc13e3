package designer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/market"
)

// shelf is the library that the goals below are read against. EURUSD 1h is its
// longest series, so a goal that names no symbol is researched on it.
var shelf = designer.Known{Series: []designer.KnownSeries{
	{Symbol: "EURUSD", Timeframe: market.H1, Bars: 60_000},
	{Symbol: "EURUSD", Timeframe: market.D1, Bars: 3_000},
	{Symbol: "GBPUSD", Timeframe: market.H1, Bars: 30_000},
	{Symbol: "GBPUSD", Timeframe: market.H4, Bars: 8_000},
	{Symbol: "BTC-USD", Timeframe: market.M15, Bars: 9_000},
	{Symbol: "XAUUSD", Timeframe: market.H1, Bars: 25_000},
}}

// goals are typed as people type them. Of each goal is known what must be
// understood, which words must be listed as not understood, or with which words it
// must be refused.
var goals = []struct {
	goal    string
	means   string // see meaningOf
	lost    string // words that are listed as not understood, separated by |
	nothing bool   // nothing of it is understood: the command line refuses it
	refused string // part of the refusal
}{
	{goal: "", means: "EURUSD 1h"},
	{goal: "anything what works", means: "EURUSD 1h"},
	{goal: "find some edge after costs", means: "EURUSD 1h"},
	{goal: "I want trend strategy for EURUSD hourly", means: "EURUSD 1h; trend"},
	{goal: "eurusd trend, dont use volume", means: "EURUSD 1h; trend; -volume"},
	{goal: "counter-trend GBPUSD", means: "GBPUSD 1h; mean reversion"},
	{goal: "buy the dip BTC/USD", means: "BTC-USD 15m; mean reversion"},
	{goal: "volatility breakout 1h and 4h GBPUSD", means: "GBPUSD 1h+4h; volatility, breakout"},
	{goal: "EURUSD and GBPUSD together, momentum", means: "EURUSD GBPUSD 1h; momentum"},
	{goal: "swing trading on GBP/USD with max drawdown of 15%", means: "GBPUSD 1h; swing; drawdown 0.15"},
	{goal: "at least 200 trades, at most 10 percent drawdown", means: "EURUSD 1h; drawdown 0.1; trades 200"},
	{goal: "use RSI and MACD, no bollinger", means: "EURUSD 1h; rsi, macd; -bandwidth, distance"},
	{goal: "no volume indicators, simple network", means: "EURUSD 1h; -volume; simple"},
	{goal: "neural network for gold, 1 hour bars", means: "XAUUSD 1h"},
	{goal: "make trend following on gold", means: "XAUUSD 1h; trend"},
	{goal: "bitcoin scalp long only", means: "BTC-USD 15m; scalping; long only"},
	{goal: "BTC-USD 15m scalping no shorts", means: "BTC-USD 15m; scalping; long only"},
	{goal: "long and short GBPUSD trend", means: "GBPUSD 1h; trend"},

	// networks
	{goal: "LSTM instead of MLP", means: "EURUSD 1h; lstm"},
	{goal: "I prefer LSTM over MLP for EURUSD", means: "EURUSD 1h; lstm"},
	{goal: "use GRU rather than LSTM", means: "EURUSD 1h; gru"},
	{goal: "without MLP", means: "EURUSD 1h; gru"},
	{goal: "transformer instead of LSTM", means: "EURUSD 1h; not lstm", lost: "transformer"},

	// stops, targets and risk
	{goal: "momentum with stop loss 2% and take profit 4%", means: "EURUSD 1h; momentum; stop 0.02; target 0.04"},
	{goal: "breakout of asian range, stop loss 1 percent", means: "EURUSD 1h; breakout; stop 0.01", lost: "asian|range"},
	{goal: "ATR stops, trend", means: "EURUSD 1h; trend; stop"},
	{goal: "no stop loss, mean reversion", means: "EURUSD 1h; mean reversion; no stop"},
	{goal: "trailing stop 2 ATR on EURUSD trend", means: "EURUSD 1h; trend", lost: "trailing|stop|2 ATR"},
	{goal: "risk 1% per trade, EURUSD trend", means: "EURUSD 1h; trend; risk 0.01"},
	{goal: "position size 50%, momentum", means: "EURUSD 1h; momentum", lost: "size|50%"},

	// several numbers: each belongs to the phrase beside it
	{goal: "max 10% drawdown and stop loss 2%", means: "EURUSD 1h; drawdown 0.1; stop 0.02"},
	{goal: "max drawdown 10% stop 2% risk 1% per trade", means: "EURUSD 1h; drawdown 0.1; stop 0.02; risk 0.01"},
	{goal: "drawdown 10 percent stop 2 percent take profit 4 percent", means: "EURUSD 1h; drawdown 0.1; stop 0.02; target 0.04"},
	{goal: "10% drawdown 2% stop 4% take profit", means: "EURUSD 1h; drawdown 0.1; stop 0.02; target 0.04"},
	{goal: "10 percent max drawdown with a 2 percent stop", means: "EURUSD 1h; drawdown 0.1; stop 0.02"},
	{goal: "stop loss 2% max drawdown 10%", means: "EURUSD 1h; drawdown 0.1; stop 0.02"},
	{goal: "stop 0.02 and take profit 0.04 drawdown 0.1", means: "EURUSD 1h; drawdown 0.1; stop 0.02; target 0.04"},
	{goal: "position size 50% stop 2% target", means: "EURUSD 1h; stop 0.02", lost: "size|50%|target"},
	{goal: "trend with small drawdown and a 2% stop", means: "EURUSD 1h; trend; stop 0.02", lost: "small|drawdown"},
	{goal: "trend with low drawdown on 1 hour bars", means: "EURUSD 1h; trend", lost: "low|drawdown"},
	{goal: "trend on 1 hour bars with low drawdown", means: "EURUSD 1h; trend", lost: "low|drawdown"},
	{goal: "trend with sharpe above 1.5 and low drawdown", means: "EURUSD 1h; trend", lost: "sharpe|1.5|low|drawdown"},
	{goal: "drawdown must stay below 10%, risk 1%", means: "EURUSD 1h; drawdown 0.1; risk 0.01", lost: "stay"},
	{goal: "stop 2% at least 200 trades drawdown 10%", means: "EURUSD 1h; drawdown 0.1; trades 200; stop 0.02"},

	// dates and sessions
	{goal: "trend since 2015 only", means: "EURUSD 1h; trend", lost: "2015"},
	{goal: "backtest from 2018 to 2022 mean reverting GBPUSD", means: "GBPUSD 1h; mean reversion", lost: "2018|2022"},
	{goal: "trend after 2016-01-01", means: "EURUSD 1h; trend", lost: "2016-01-01"},
	{goal: "trend from 2016/01 to 31/12/2020 EURUSD", means: "EURUSD 1h; trend", lost: "2016/01|31/12/2020"},
	{goal: "trend since 2016-01-01 daily bars EURUSD", means: "EURUSD 1d; trend", lost: "2016-01-01"},
	{goal: "trend since 2016 daily bars EURUSD", means: "EURUSD 1d; trend", lost: "2016"},
	{goal: "mean reversion in the london session on GBPUSD", means: "GBPUSD 1h; mean reversion; session"},
	{goal: "hour of day on GBPUSD", means: "GBPUSD 1h; calendar; hour"},
	{goal: "the hour of the day and the day of the week on EURUSD", means: "EURUSD 1h; calendar; hour, weekday"},
	{goal: "EURUSD, calendar effects, no weekday", means: "EURUSD 1h; calendar; -weekday"},
	{goal: "GBPUSD, bars since the open", means: "GBPUSD 1h; calendar; since_open"},
	{goal: "trend on EURUSD, 1 hour bars", means: "EURUSD 1h; trend"},
	{goal: "EURUSD overnight mean reversion, flat before weekend", means: "EURUSD 1h; mean reversion", lost: "overnight|flat|weekend"},
	{goal: "hold 3 days, EURUSD", means: "EURUSD 1h", lost: "hold|3 days"},

	// other words that change nothing
	{goal: "CTA style trend following", means: "EURUSD 1h; trend", lost: "CTA"},
	{goal: "VIX filter, trend EURUSD", means: "EURUSD 1h; trend", lost: "VIX|filter"},
	{goal: "GBPUSD trend, I check it daily", means: "GBPUSD 1h; trend", lost: "check|daily"},
	{goal: "EURUSD trend 0.5% daily target", means: "EURUSD 1h; trend", lost: "0.5%|daily|target"},
	{goal: "GBPUSD trend 0.5% daily target", means: "GBPUSD 1h; trend", lost: "0.5%|daily|target"},
	{goal: "GBPUSD trend stop 2% 4h", means: "GBPUSD 4h; trend; stop 0.02"},
	{goal: "EURUSD trend stop 2% daily bars", means: "EURUSD 1d; trend; stop 0.02"},
	{goal: "tren folowing for EURUSD", means: "EURUSD 1h", lost: "tren|folowing"},
	{goal: "momentum with sharpe > 1.5", means: "EURUSD 1h; momentum", lost: "sharpe|1.5"},
	{goal: "only short positions EURUSD", means: "EURUSD 1h", lost: "short"},
	{goal: "intraday mean reversion GBPUSD, commission 2 bps", means: "GBPUSD 1h; mean reversion; intraday", lost: "commission|2 bps"},
	{goal: "news and sentiment based, no trend", means: "EURUSD 1h; -trend", lost: "news|sentiment"},
	{goal: "Стратегия тренда EURUSD", means: "EURUSD 1h", lost: "Стратегия|тренда"},

	// a negation ends behind the first thing that it names
	{goal: "no leverage EURUSD trend", means: "EURUSD 1h; trend", lost: "leverage"},
	{goal: "no hedging trend following", means: "EURUSD 1h; trend", lost: "hedging"},
	{goal: "no stop loss EURUSD trend", means: "EURUSD 1h; trend; no stop"},
	{goal: "no overnight positions momentum", means: "EURUSD 1h; momentum", lost: "overnight"},
	{goal: "no overfitting trend EURUSD", means: "EURUSD 1h; trend"},
	{goal: "not only trend but also momentum", means: "EURUSD 1h; trend, momentum"},
	{goal: "not only long, trend", means: "EURUSD 1h; trend"},
	{goal: "no more than 10% drawdown stop 2%", means: "EURUSD 1h; drawdown 0.1; stop 0.02"},
	{goal: "no volume indicators or macd, trend", means: "EURUSD 1h; trend; -volume; -macd"},
	{goal: "no volume nor momentum", means: "EURUSD 1h; -volume, momentum"},
	{goal: "trend without RSI/MACD", means: "EURUSD 1h; trend; -rsi, macd"},
	{goal: "trend, avoid high volatility", means: "EURUSD 1h; trend; -volatility", lost: "high"},
	{goal: "trend, do not rely on volume", means: "EURUSD 1h; trend; -volume", lost: "rely"},
	{goal: "trend, never hold shorts", means: "EURUSD 1h; trend; long only", lost: "hold"},

	// bounds, and what turns them round
	{goal: "trend, no more than 200 trades", means: "EURUSD 1h; trend", lost: "200 trades"},
	{goal: "trend, not more than 200 trades", means: "EURUSD 1h; trend", lost: "200 trades"},
	{goal: "trend, never over 200 trades", means: "EURUSD 1h; trend", lost: "200 trades"},
	{goal: "trend, not above 200 trades", means: "EURUSD 1h; trend", lost: "200 trades"},
	{goal: "trend, don't make more than 200 trades", means: "EURUSD 1h; trend", lost: "200 trades"},
	{goal: "trend, don’t make more than 200 trades", means: "EURUSD 1h; trend", lost: "200 trades"},
	{goal: "it shouldn't take more than 200 trades, trend", means: "EURUSD 1h; trend", lost: "200 trades"},
	{goal: "don't make more than 200 trades trend", means: "EURUSD 1h; trend", lost: "200 trades"},
	{goal: "trend without more than 200 trades", means: "EURUSD 1h; trend", lost: "200 trades"},
	{goal: "trend with fewer than 200 trades", means: "EURUSD 1h; trend", lost: "200 trades"},
	{goal: "trend with less than 200 trades", means: "EURUSD 1h; trend", lost: "200 trades"},
	{goal: "trend, under 200 trades", means: "EURUSD 1h; trend", lost: "200 trades"},
	{goal: "trend, below 200 trades", means: "EURUSD 1h; trend", lost: "200 trades"},
	{goal: "trend, max 200 trades", means: "EURUSD 1h; trend", lost: "200 trades"},
	{goal: "trend, a maximum of 200 trades", means: "EURUSD 1h; trend", lost: "200 trades"},
	{goal: "trend, up to 200 trades", means: "EURUSD 1h; trend", lost: "200 trades"},
	{goal: "trend, < 200 trades", means: "EURUSD 1h; trend", lost: "200 trades"},
	{goal: "trend, <200 trades", means: "EURUSD 1h; trend", lost: "200 trades"},
	{goal: "trend, at least 100 and at most 300 trades", means: "EURUSD 1h; trend", lost: "100|300 trades"},
	{goal: "trend, between 100 and 300 trades", means: "EURUSD 1h; trend", lost: "100|300 trades"},
	{goal: "trend, at least 10% return with 200 trades max", means: "EURUSD 1h; trend", lost: "10%|return|200 trades"},
	{goal: "trend, more than 3 trades per day", means: "EURUSD 1h; trend", lost: "3 trades|day"},
	{goal: "trend, more than 3 trades a day", means: "EURUSD 1h; trend", lost: "3 trades|day"},
	{goal: "trend over 200 bars and few trades", means: "EURUSD 1h; trend", lost: "200 bars|few trades"},
	{goal: "trend with few trades on EURUSD", means: "EURUSD 1h; trend", lost: "few trades"},
	{goal: "trend EURUSD many trades", means: "EURUSD 1h; trend", lost: "many trades"},
	{goal: "trend, not too many trades", means: "EURUSD 1h; trend", lost: "not too many trades"},
	{goal: "trend with fewer but larger positions", means: "EURUSD 1h; trend", lost: "fewer but larger positions"},
	{goal: "trend, as few good trades as possible", means: "EURUSD 1h; trend", lost: "few good trades"},
	{goal: "trend, trade less", means: "EURUSD 1h; trend", lost: "trade less"},
	{goal: "trend, more than 200 trades and fewer indicators", means: "EURUSD 1h; trend; trades 200", lost: "fewer indicators"},
	{goal: "few trades", means: "EURUSD 1h", lost: "few trades", nothing: true},
	{goal: "trend, no fewer than 200 trades", means: "EURUSD 1h; trend; trades 200"},
	{goal: "trend, not less than 200 trades", means: "EURUSD 1h; trend; trades 200"},
	{goal: "trend, never under 200 trades", means: "EURUSD 1h; trend; trades 200"},
	{goal: "trend with more than 200 trades", means: "EURUSD 1h; trend; trades 200"},
	{goal: "trend with over 200 trades", means: "EURUSD 1h; trend; trades 200"},
	{goal: "trend with a minimum of 200 trades", means: "EURUSD 1h; trend; trades 200"},
	{goal: "trend, >200 trades", means: "EURUSD 1h; trend; trades 200"},
	{goal: "trend, >= 200 trades", means: "EURUSD 1h; trend; trades 200"},
	{goal: "no stop loss, more than 200 trades", means: "EURUSD 1h; trades 200; no stop"},
	{goal: "no stop loss and at least 200 trades", means: "EURUSD 1h; trades 200; no stop"},
	{goal: "trend, don’t use volume", means: "EURUSD 1h; trend; -volume"},
	{goal: "it shouldn't use volume, trend", means: "EURUSD 1h; trend; -volume"},
	{goal: "hold at most 4h, GBPUSD", means: "GBPUSD 1h", lost: "hold|4h"},
	{goal: "GBPUSD trend, hold less than 4 hours", means: "GBPUSD 1h; trend", lost: "hold|4 hours"},
	{goal: "GBPUSD 1h rather than 4h", means: "GBPUSD 1h", lost: "4h"},
	{goal: "trend, drawdown < 10%", means: "EURUSD 1h; trend; drawdown 0.1"},
	{goal: "trend, drawdown under 10%", means: "EURUSD 1h; trend; drawdown 0.1"},
	{goal: "trend, at most 3 indicators", means: "EURUSD 1h; trend", lost: "3 indicators"},

	// what is ruled out is not wanted, wherever the negation stands: symbols
	{goal: "EURUSD, not GBPUSD", means: "EURUSD 1h"},
	{goal: "EURUSD but not GBPUSD", means: "EURUSD 1h"},
	{goal: "EURUSD without GBPUSD", means: "EURUSD 1h"},
	{goal: "GBPUSD instead of EURUSD", means: "GBPUSD 1h"},
	{goal: "not EURUSD, use GBPUSD", means: "GBPUSD 1h"},
	{goal: "never trade gold; trend on EURUSD", means: "EURUSD 1h; trend"},
	{goal: "avoid EURUSD, trend", refused: "rules out EURUSD, and names no other symbol"},
	{goal: "no bitcoin, trend", refused: "rules out BTC-USD"},
	{goal: "all symbols except EURUSD", refused: "rules out EURUSD"},
	{goal: "trend, anything except gold", refused: "rules out XAUUSD"},
	{goal: "any pair other than EURUSD", refused: "rules out EURUSD"},
	{goal: "EURUSD and gold are forbidden", refused: "rules out EURUSD and XAUUSD"},
	{goal: "trend on EURUSD and GBPUSD; gold is forbidden", means: "EURUSD GBPUSD 1h; trend"},

	{goal: "never use leverage on GBPUSD", refused: "does not say clearly whether GBPUSD is wanted"},
	{goal: "GBPUSD trend. Never use leverage on GBPUSD", means: "GBPUSD 1h; trend", lost: "Never use leverage on GBPUSD"},

	// timeframes
	{goal: "don't trade on the daily chart of EURUSD", means: "EURUSD 1h", lost: "daily"},
	{goal: "daily bars must not be used", means: "EURUSD 1h", lost: "daily", nothing: true},
	{goal: "anything but hourly bars", means: "EURUSD 1h", lost: "hourly", nothing: true},
	{goal: "GBPUSD 1h, 4h bars are forbidden", means: "GBPUSD 1h", lost: "4h|forbidden"},

	// kinds of strategies, indicators and networks
	{goal: "RSI should not be used", means: "EURUSD 1h; -rsi"},
	{goal: "RSI and MACD should not be used", means: "EURUSD 1h; -rsi, macd"},
	{goal: "volume must not be used", means: "EURUSD 1h; -volume"},
	{goal: "LSTM shouldn't be used", means: "EURUSD 1h; not lstm"},
	{goal: "GRU is not what I want", means: "EURUSD 1h; not gru"},
	{goal: "trend isn't what I want", means: "EURUSD 1h; -trend"},
	{goal: "trend does not work on EURUSD; try mean reversion", means: "EURUSD 1h; mean reversion; -trend"},
	{goal: "trend on EURUSD does not work; try mean reversion", means: "EURUSD 1h; mean reversion; -trend"},
	{goal: "momentum is to be avoided", means: "EURUSD 1h; -momentum"},
	{goal: "anything but momentum", means: "EURUSD 1h; -momentum"},
	{goal: "stop using RSI", means: "EURUSD 1h; -rsi"},
	{goal: "I do not want to use RSI", means: "EURUSD 1h; -rsi"},
	{goal: "do not incorporate RSI", means: "EURUSD 1h", lost: "not incorporate RSI", nothing: true},
	{goal: "neither trend nor momentum", means: "EURUSD 1h; -trend, momentum"},
	{goal: "trade against the trend", means: "EURUSD 1h; -trend"},
	{goal: "non-trending", means: "EURUSD 1h; -trend"},
	{goal: "anti-momentum", means: "EURUSD 1h; -momentum"},
	{goal: "momentum excluded", means: "EURUSD 1h; -momentum"},
	{goal: "excluded: RSI, MACD", means: "EURUSD 1h; -rsi, macd"},
	{goal: "ban LSTM", means: "EURUSD 1h; not lstm"},
	{goal: "forget about volume", means: "EURUSD 1h; -volume"},
	{goal: "trend minus volume", means: "EURUSD 1h; trend; -volume"},
	{goal: "apart from RSI", means: "EURUSD 1h; -rsi"},
	{goal: "with the exception of MACD", means: "EURUSD 1h; -macd"},
	{goal: "simple is not needed", means: "EURUSD 1h", lost: "simple is not needed", nothing: true},
	{goal: "volume is not needed, trend", means: "EURUSD 1h; trend", lost: "volume is not needed"},
	{goal: "scalping is forbidden, trend", means: "EURUSD 1h; trend", lost: "scalping|forbidden"},
	{goal: "no RSI, MACD or volume", means: "EURUSD 1h; -rsi", lost: "MACD|volume"},
	{goal: "no shorts, trend or momentum", means: "EURUSD 1h; trend, momentum; long only"},
	{goal: "no trend without volume", means: "EURUSD 1h", lost: "no trend without volume", nothing: true},
	{goal: "no shorts trend without volume", means: "EURUSD 1h; trend; -volume; long only"},
	{goal: "RSI should not be used alone", means: "EURUSD 1h", lost: "RSI should not be used|alone", nothing: true},
	{goal: "EURUSD trend, not too complex", means: "EURUSD 1h; trend", lost: "not too complex"},
	{goal: "EURUSD trend it is not allowed to short", means: "EURUSD 1h; trend; long only"},
	{goal: "no (RSI, MACD), trend", means: "EURUSD 1h; trend; -rsi, macd"},
	{goal: "avoid:\nRSI\nMACD", means: "EURUSD 1h; -rsi, macd"},
	{goal: "no other indicator than RSI", means: "EURUSD 1h", lost: "no other indicator than RSI", nothing: true},
	{goal: "RSI never", means: "EURUSD 1h", lost: "RSI never", nothing: true},
	{goal: "RSI usage is forbidden", means: "EURUSD 1h", lost: "RSI usage is forbidden", nothing: true},
	{goal: "no MLP and no GRU", means: "EURUSD 1h; lstm"},
	{goal: "no MLP, no GRU and no LSTM", means: "EURUSD 1h"},
	{goal: "overfitting must be avoided, trend", means: "EURUSD 1h; trend"},
	{goal: "trend: no!", means: "EURUSD 1h; trend", lost: "no"},

	// directions
	{goal: "shorts must not be used", means: "EURUSD 1h; long only"},
	{goal: "shorts are forbidden", means: "EURUSD 1h; long only"},
	{goal: "shorts on GBPUSD are forbidden", means: "GBPUSD 1h; long only"},
	{goal: "trend on GBPUSD where shorts are forbidden", means: "GBPUSD 1h; trend; long only"},
	{goal: "shorting is not allowed", means: "EURUSD 1h; long only"},
	{goal: "long only is forbidden", means: "EURUSD 1h"},

	// exits and risk
	{goal: "stop must not be used", means: "EURUSD 1h; no stop"},
	{goal: "take profit must not be used", means: "EURUSD 1h; no target"},
	{goal: "never without a stop", means: "EURUSD 1h; stop"},
	{goal: "no trades without a stop", means: "EURUSD 1h; stop"},
	{goal: "stop loss is not needed", means: "EURUSD 1h", lost: "stop loss is not needed", nothing: true},
	{goal: "take profit is not needed", means: "EURUSD 1h", lost: "take profit is not needed", nothing: true},
	{goal: "a stop is optional", means: "EURUSD 1h", lost: "stop is optional", nothing: true},
	{goal: "a stop is not optional", means: "EURUSD 1h", lost: "stop is not optional", nothing: true},
	{goal: "no stop of 2%", means: "EURUSD 1h", lost: "no stop of 2%", nothing: true},
	{goal: "do not use a stop loss of more than 2%", means: "EURUSD 1h", lost: "not use a stop loss of more than 2%", nothing: true},
	{goal: "there is no need for a stop", means: "EURUSD 1h", lost: "no need for a stop", nothing: true},
	{goal: "stops must not be too tight", means: "EURUSD 1h", lost: "stops must not be too tight", nothing: true},
	{goal: "shorts should not be held overnight", means: "EURUSD 1h", lost: "shorts should not be held overnight", nothing: true},
	{goal: "a stop below 2%", means: "EURUSD 1h; stop", lost: "2%"},
	{goal: "a stop under 2%", means: "EURUSD 1h; stop", lost: "2%"},
	{goal: "risk below 1% per trade", means: "EURUSD 1h", lost: "risk|1%", nothing: true},
	{goal: "less than 1% risk per trade", means: "EURUSD 1h", lost: "1%|risk", nothing: true},

	// bounds under a negation
	{goal: "stop trading at 10% drawdown", means: "EURUSD 1h", lost: "stop|10%|drawdown", nothing: true},
	{goal: "drawdown above 10%", means: "EURUSD 1h", lost: "drawdown|10%", nothing: true},
	{goal: "drawdown at least 10%", means: "EURUSD 1h", lost: "drawdown|10%", nothing: true},
	{goal: "drawdown no less than 5%", means: "EURUSD 1h", lost: "drawdown|5%", nothing: true},
	{goal: "drawdown not below 5%", means: "EURUSD 1h", lost: "drawdown|5%", nothing: true},
	{goal: "drawdown can exceed 10%", means: "EURUSD 1h", lost: "drawdown|exceed|10%", nothing: true},
	{goal: "drawdown must not exceed 10%", means: "EURUSD 1h; drawdown 0.1"},
	{goal: "no drawdowns above 10%", means: "EURUSD 1h; drawdown 0.1"},
	{goal: "drawdown above 10% is not acceptable", means: "EURUSD 1h; drawdown 0.1"},
	{goal: "a drawdown of 10% is acceptable", means: "EURUSD 1h", lost: "drawdown of 10% is acceptable", nothing: true},
	{goal: "at least 200 trades are too many", means: "EURUSD 1h", lost: "200 trades", nothing: true},
	{goal: "more than 200 trades is bad", means: "EURUSD 1h", lost: "200 trades|bad", nothing: true},
	{goal: "fewer than 200 trades is bad", means: "EURUSD 1h; trades 200"},
	{goal: "at least 10 winning trades in a row", means: "EURUSD 1h", lost: "10 winning|row", nothing: true},
	{goal: "at least 10 trades in a row", means: "EURUSD 1h", lost: "10 trades|row", nothing: true},

	// nothing is understood
	{goal: "no more than 200 trades", means: "EURUSD 1h", lost: "200 trades", nothing: true},
	{goal: "make me rich fast", means: "EURUSD 1h", lost: "rich|fast", nothing: true},
	{goal: "low risk strategy please", means: "EURUSD 1h", lost: "low|risk", nothing: true},
	{goal: "momentom strategy", means: "EURUSD 1h", lost: "momentom", nothing: true},
	{goal: "at most 50 trades", means: "EURUSD 1h", lost: "50 trades", nothing: true},
	{goal: "sharpe above 2", means: "EURUSD 1h", lost: "sharpe|2", nothing: true},
	{goal: "trade only in new york hours", means: "EURUSD 1h", lost: "new|york|hours", nothing: true},
	{goal: "pairs trading with cointegration", means: "EURUSD 1h", lost: "pairs|cointegration", nothing: true},
	{goal: "leverage 10x martingale grid", means: "EURUSD 1h", lost: "leverage|10x|martingale|grid", nothing: true},
	{goal: "please to make robust strategy with small drawdown", means: "EURUSD 1h", lost: "small|drawdown", nothing: true},

	// bars that the library does not have
	{goal: "XAUUSD daily", refused: "`ktrdr data resample XAUUSD 1h 1d`"},
	{goal: "gold 4h", refused: "`ktrdr data resample XAUUSD 1h 4h`"},
	{goal: "weekly momentum on EURUSD", refused: "`ktrdr data resample EURUSD 1h 1w`"},
	{goal: "GBPUSD 4h with daily filter", refused: "`ktrdr data resample GBPUSD 1h 1d`"},
	{goal: "EURUSD M15", refused: "no 15m bars of EURUSD"},
	{goal: "EURUSD and USDJPY momentum", refused: "names USDJPY"},
	{goal: "trend on VIX", refused: "names VIX"},
	{goal: "TSLA momentum", refused: "names TSLA"},
	{goal: "trade $NVDA breakouts", refused: "names NVDA"},
	{goal: "silver trend", refused: "names silver"},
	{goal: "trend on EURUSDD", refused: "did you mean EURUSD?"},
	{goal: "EURUSDD trend", refused: "did you mean EURUSD?"},
	{goal: "trend EURSUD", refused: "did you mean EURUSD?"},
	{goal: "trend on eurusdd", refused: "did you mean EURUSD?"},
	{goal: "trend on BTCC-USD", refused: "did you mean BTC-USD?"},
	{goal: "EURUSD and GBPUSDD trend", refused: "did you mean GBPUSD?"},
	{goal: "trend with gbpusdx", refused: "did you mean GBPUSD?"},
	{goal: "TREND on EURUSD MORNINGS", means: "EURUSD 1h; trend", lost: "MORNINGS"},
}

// meaningOf puts what was understood into one line.
func meaningOf(b designer.Brief) string {
	parts := []string{strings.Join(b.Symbols, " ") + " " + string(b.Timeframe)}
	for _, tf := range b.Longer {
		parts[0] += "+" + string(tf)
	}
	add := func(ok bool, format string, args ...any) {
		if ok {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	list := func(before string, n int, names any) {
		add(n > 0, "%s%s", before, strings.Trim(strings.ReplaceAll(fmt.Sprintf("%q", names), `" "`, ", "), `[]"`))
	}
	list("", len(b.Families), b.Families)
	list("", len(b.Readings), b.Readings)
	list("-", len(b.AvoidFamilies), b.AvoidFamilies)
	list("-", len(b.AvoidReadings), b.AvoidReadings)
	list("", len(b.Models), b.Models)
	for _, said := range b.Understood { // a network that is ruled out is only named
		if kind, ok := strings.CutPrefix(said, "Use no network of the kind "); ok && len(b.Models) == 0 {
			add(true, "not %s", strings.TrimSuffix(kind, "."))
		}
	}
	add(b.Style != "", "%s", b.Style)
	add(b.LongOnly, "long only")
	add(b.Simple, "simple")
	add(b.MaxDrawdown > 0, "drawdown %v", b.MaxDrawdown)
	add(b.MinTrades > 0, "trades %d", b.MinTrades)
	exit(add, "stop", b.Stop)
	exit(add, "target", b.Target)
	add(b.Risk > 0, "risk %v", b.Risk)
	return strings.Join(parts, "; ")
}

func exit(add func(bool, string, ...any), name string, e designer.Exit) {
	add(e.At > 0, "%s %v", name, e.At)
	add(e.Use && e.At == 0, "%s", name)
	add(e.None, "no %s", name)
}

func TestGoals_AreUnderstoodRefusedOrListed(t *testing.T) {
	for _, c := range goals {
		t.Run(c.goal, func(t *testing.T) {
			_, err := designer.CheckBrief(c.goal, shelf, designer.Chosen{})
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Fatalf("err = %v, want a refusal with %q", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			b := designer.Chosen{}.Read(c.goal, shelf)
			if got := meaningOf(b); got != c.means {
				t.Errorf("understood %q, want %q", got, c.means)
			}
			if got := strings.Join(b.NotUnderstood, "|"); got != c.lost {
				t.Errorf("not understood %q, want %q", got, c.lost)
			}
			for _, said := range b.Understood { // a word is heeded or listed, not both
				if strings.Contains(said, "There is no") && c.lost != "" {
					t.Errorf("not understood %q, and understood %q", c.lost, said)
				}
			}
			if b.NothingUnderstood != c.nothing {
				t.Errorf("nothing understood = %v, want %v", !c.nothing, c.nothing)
			}
		})
	}
}
