//! The command line. One file per command; the library does the work.

mod access;
mod add;
mod build;
#[cfg(feature = "serving")]
mod check_serving;
mod diff;
mod explain;
mod generate;
mod images;
mod init;
mod inspect;
mod lock;
mod migrate;
mod outdated;
mod output;
mod package;
mod push;
mod remove;
mod repository;
mod vendor;
mod verify;

use crate::attest::{self, Attestations};
use crate::config::Config;
use crate::diag::Diagnostics;
use crate::escape;
use crate::jq;
use crate::lock::{self as lock_file, Lock};
use crate::package::Package;
use crate::pipeline::{COMPILER_STACK, Inputs};
use crate::source::{Limits, SourceResolver};
use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use output::Output;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Compiles OLM registry+v1 bundles into Helm charts.
#[derive(Debug, Parser)]
#[command(name = "bundle2chart", version, about, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Args)]
struct Global {
    /// Path of the configuration file.
    #[arg(short, long, global = true, value_name = "FILE", default_value = "bundles.toml")]
    config: PathBuf,
    /// Diagnostics format. All formats but human are written to stdout, unless the command writes a report there.
    #[arg(long, global = true, value_enum, default_value_t = MessageFormat::Human)]
    message_format: MessageFormat,
    /// When to use colors.
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto)]
    color: Colour,
    /// Only print errors.
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Verbose output: all notes, sources of images, matches of filters and patches. -vv: HTTP requests. -vvv: response headers.
    #[arg(short, long, global = true, action = clap::ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,
    /// Disable network access: use image layouts and the cache only.
    #[arg(long, global = true)]
    offline: bool,
}

/// A command that runs: its global options, its output and its diagnostics.
struct Invocation<'g> {
    global: &'g Global,
    output: Output,
    diagnostics: Diagnostics,
}

impl Invocation<'_> {
    /// Runs a command, which returns `None` after an error; its diagnostics are printed last, unless it
    /// printed them itself.
    fn reporting(&mut self, command: impl FnOnce(&mut Self) -> Option<Exit>) -> Exit {
        let exit = command(self).unwrap_or(Exit::Error);
        if !self.output.is_reported {
            // After errors, notes about bundles are only counted, so that the errors stay in sight.
            let is_brief = self.global.verbose == 0 && self.diagnostics.has_errors();
            let most = if is_brief { 0 } else { usize::MAX };
            self.output.diagnostics_within(&self.diagnostics, most);
        }
        exit
    }

    /// Reads the configuration, whose files locate diagnostics from now on; `None` after an error.
    fn configuration(&mut self) -> Option<Config> {
        self.read_with(Config::read)
    }

    fn read_with(&mut self, read: fn(&Path, &mut Diagnostics) -> Option<Config>) -> Option<Config> {
        let config = read(&self.global.config, &mut self.diagnostics)?;
        self.output.repository.add(&config);
        Some(config)
    }

    /// Returns the sources of a configuration, with the environment of this process.
    fn sources(&self, config: &Config) -> SourceResolver {
        SourceResolver::of(config, access::access(self.global))
    }

    /// Reads bundles.lock; `None` after an error.
    fn lock(&mut self) -> Option<Lock> {
        self.diagnostics.report(lock_file::read(&lock_file::path_of(&self.global.config)))
    }

    /// Reads the configuration and bundles.lock; `None` after an error.
    fn configuration_and_lock(&mut self) -> Option<(Config, Lock)> {
        Some((self.configuration()?, self.lock()?))
    }

    /// Returns the attestations of packages, whose charts are compiled again; `None` after an error.
    fn attestations(
        &mut self,
        packages: &[Package],
        config: &Config,
        sources: &SourceResolver,
    ) -> Option<Vec<Attestations>> {
        let lock = self.lock()?;
        let inputs = Inputs { config, sources, lock: &lock, jobs: cpus() };
        attest::attestations(packages, &inputs, &self.global.config, &mut self.diagnostics)
    }

    /// Reads the configuration if its file exists, and returns the sources with its mirrors and
    /// registries, else with the defaults; `None` after an error.
    fn configuration_if_any(&mut self) -> Option<(Option<Config>, SourceResolver)> {
        // `inspect` and `diff` can do without it.
        if !self.global.config.exists() {
            let access = access::access(self.global);
            let sources = SourceResolver::new(Path::new(""), &[], &Limits::default(), access);
            return Some((None, sources));
        }
        let config = self.read_with(Config::read_any)?;
        let sources = self.sources(&config);
        Some((Some(config), sources))
    }
}

/// The format of a command's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Human-readable text.
    Text,
    /// A JSON object.
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MessageFormat {
    Human,
    Json,
    Github,
    Sarif,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a bundles.toml.
    Init,
    /// Add a bundle to bundles.toml.
    Add(add::Add),
    /// Add what OLM or a hand-made chart installs today to bundles.toml.
    Migrate(migrate::Migrate),
    /// Remove a bundle from bundles.toml.
    Remove(remove::Remove),
    /// Resolve tags to digests and write bundles.lock.
    Lock(lock::LockCommand),
    /// Show which locked bundles have newer versions.
    Outdated(outdated::Outdated),
    /// Copy the locked images to a directory or a registry.
    Vendor(vendor::Vendor),
    /// Compile bundles to Helm charts.
    Build(build::Build),
    /// Package charts as .tgz files, and write charts.lock.
    Package(package::Package),
    /// Push charts to an OCI registry, and write charts.lock.
    Push(push::Push),
    /// Check that a chart is byte for byte what its bundle compiles to.
    Verify(verify::Verify),
    /// Show the changes of an upgrade.
    Diff(diff::Diff),
    /// Show the contents of a bundle.
    Inspect(inspect::Inspect),
    /// List the images that the charts use.
    Images(images::Images),
    /// Check manifests of model servers, whether generated or written by hand.
    #[cfg(feature = "serving")]
    CheckServing(check_serving::CheckServing),
    /// Explain a diagnostic code or a code of a diff finding.
    Explain(explain::Explain),
    /// Print the JSON Schema of bundles.toml.
    Schema,
    /// Print a shell completion script.
    Completions {
        /// Shell to generate the script for.
        shell: clap_complete::Shell,
    },
    /// Print the man page, or write those of all commands.
    Man {
        /// Directory to write a man page for each command to; created if it is missing.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

/// Result of a command, as an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    /// Success.
    Clean = 0,
    /// Differences or findings, if the command was asked to report them.
    Findings = 1,
    /// Usage error or failure; nothing was written.
    Error = 2,
}

/// Prints help, the version or a usage error, with the quoted arguments escaped.
#[expect(clippy::print_stderr, reason = "the output format is not parsed yet")]
fn usage(mut error: clap::Error) -> ExitCode {
    // Escape line breaks in arguments, so that the message has no forged lines.
    let arguments =
        std::env::args_os().map(|text| escape::visible(&text.to_string_lossy()).into_owned());
    // clap quotes arguments in its messages and has no hook to escape them, so it parses them
    // again.
    if let Err(visible) = Cli::try_parse_from(arguments) {
        error = visible;
    }
    name_option(&mut error);
    let text = error.render().to_string();
    let safe = escape::lines(&text);
    if safe == text {
        // Prints with colors if the terminal supports them.
        let _ = error.print();
    } else {
        eprint!("{safe}");
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Replaces clap's tip about an unknown option by the global option that ends like it: `--format` is
/// less like `--message-format` than clap asks for.
fn name_option(error: &mut clap::Error) {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return };
    let end = unknown.strip_prefix("--").map(|name| format!("-{name}"));
    let command = Cli::command();
    let mut options = command.get_arguments().filter_map(clap::Arg::get_long);
    let near = end.and_then(|end| options.find(|option| option.ends_with(&end)));
    if let (clap::error::ErrorKind::UnknownArgument, Some(near)) = (error.kind(), near) {
        error.remove(ContextKind::Suggested);
        error.insert(ContextKind::SuggestedArg, ContextValue::String(format!("--{near}")));
    }
}

/// Parses the arguments of this process and runs the command. Exit code 0: clean; 1: differences
/// or findings; 2: wrong usage or an error.
#[expect(clippy::disallowed_methods, reason = "runs the command on a thread with a large stack")]
pub fn main() -> ExitCode {
    // The jq worker has no commands or options, so it bypasses the argument parser.
    if std::env::args_os().nth(1).is_some_and(|first| first == jq::worker::ARGUMENT) {
        return jq::worker::main();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(error),
    };
    // Only here: a program that embeds the library cannot be started as a worker.
    jq::run_in(own_program());

    // The main thread's stack size depends on the shell's limit, which may be too small.
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("main".to_owned()).stack_size(COMPILER_STACK);
        let running = thread.spawn_scoped(scope, || run(&cli));
        match running.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(exit)) => exit,
            // The panic message is already printed.
            Ok(Err(_)) => ExitCode::from(101),
            // The system is out of threads.
            Err(_) => run(&cli),
        }
    })
}

fn run(cli: &Cli) -> ExitCode {
    let output = Output::new(&cli.global);
    let mut invocation =
        Invocation { global: &cli.global, output, diagnostics: Diagnostics::new() };
    let output = &mut invocation.output;
    let exit = match &cli.command {
        Command::Init => init::run(&cli.global.config, output),
        Command::Add(add) => invocation.reporting(|it| add.run(it)),
        Command::Migrate(migrate) => invocation.reporting(|it| migrate.run(it)),
        Command::Remove(remove) => invocation.reporting(|it| remove.run(it)),
        Command::Build(build) => invocation.reporting(|it| build.run(it)),
        Command::Lock(lock) => invocation.reporting(|it| lock.run(it)),
        Command::Outdated(outdated) => invocation.reporting(|it| outdated.run(it)),
        Command::Vendor(vendor) => invocation.reporting(|it| vendor.run(it)),
        Command::Package(package) => invocation.reporting(|it| package.run(it)),
        Command::Push(push) => invocation.reporting(|it| push.run(it)),
        Command::Verify(verify) => invocation.reporting(|it| verify.run(it)),
        Command::Diff(diff) => invocation.reporting(|it| diff.run(it)),
        Command::Inspect(inspect) => invocation.reporting(|it| inspect.run(it)),
        Command::Images(images) => invocation.reporting(|it| images.run(it)),
        #[cfg(feature = "serving")]
        Command::CheckServing(check) => check.run(output),
        Command::Explain(explain) => explain.run(output),
        Command::Schema => generate::schema(output),
        Command::Completions { shell } => generate::completions(*shell, output),
        Command::Man { out } => generate::man(out.as_deref(), output),
    };
    ExitCode::from(invocation.output.finish(exit) as u8)
}

/// Returns the number of CPUs that this process may use.
fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, Into::into)
}

/// Path of this program, even if its file was replaced after the start.
fn own_program() -> PathBuf {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() { running } else { std::env::current_exe().unwrap_or(running) }
}
